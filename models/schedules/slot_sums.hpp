// SPDX-License-Identifier: Apache-2.0
// Copy engines cannot add: partials land in slots of their owner, which adds them once all are there; an all-reduce then
// sends its sums to everybody.
#pragma once

#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// The rank's own rows: every slot is read once and the sum is written. `chunk` tags it.
void add_slots(const FusedView& view, int rank, int chunk, sim::StreamId stream,
               LayerProgram& program);

/// Of an all-reduce every rank fetches the sums of all others on its communication stream, which knows that they are
/// there; ranks of one process wait for each other here.
void share_sums(const FusedView& view, int chunk, LayerProgram& program);

}  // namespace weft::model
