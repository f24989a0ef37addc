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

/// The sums of all other ranks come to this one, on its communication stream.
void fetch_sums(const FusedView& view, int rank, int chunk, LayerProgram& program);

}  // namespace weft::model
