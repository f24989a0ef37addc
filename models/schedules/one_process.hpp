// SPDX-License-Identifier: Apache-2.0
// Ranks that one host thread of one process drives, as weft-measure does: their streams join by events, and share the
// hardware queues that a process has on a device (sim/machine.hpp). Elsewhere each rank has a process of its own, and
// ranks tell each other by flags in their memories how far they have come.
#pragma once

#include "models/schedules/layer_program.hpp"
#include "models/schedules/site.hpp"

namespace weft::model {

/// Gives all ranks of the site to the first one's process.
void share_process(Site& site);

/// Whether several ranks run, all in one process.
[[nodiscard]] bool in_one_process(const Site& site);

/// Before ranks in one process pull from each other: the communication of each waits for the computing of its peers,
/// unless nothing was issued yet, so that all begin together.
void await_peers(LayerProgram& program);

/// Once ranks in one process have been given all that they send: their computing waits until it is there. `chunk` tags it.
void await_arrivals(int chunk, LayerProgram& program);

}  // namespace weft::model
