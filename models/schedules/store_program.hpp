// SPDX-License-Identifier: Apache-2.0
// A persistent product whose tiles go straight to the ranks that own them, in one launch with the CTAs that add what
// comes there.
#pragma once

#include <string_view>

#include "models/schedules/fused.hpp"

namespace weft::model {

/// Whether tiles go to their owners by themselves: reductions and exchanges by SMs, between ranks that all run.
[[nodiscard]] bool stores_tiles(const FusedView& view, const Knobs& knobs, const Site& site);

/// Appends one reduction or exchange by stores of tiles, between ranks that all run.
void emit_store_program(const FusedView& view, const Knobs& knobs, std::string_view label,
                        LayerProgram& program);

/// The least that a tile takes whose product keeps all of its stores to a pace; none: they go as they come.
[[nodiscard]] Duration paced_tile(const FusedView& view, const GemmCost& cost, const Knobs& knobs,
                                  const Site& site);

/// Whether a pace holds such a product back.
[[nodiscard]] bool stores_keep_pace(const FusedView& view, const Knobs& knobs, const Site& site);

}  // namespace weft::model
