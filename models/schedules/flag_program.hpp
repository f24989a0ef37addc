// SPDX-License-Identifier: Apache-2.0
// The program of a persistent product whose CTAs wait for, or post, the flags of chunks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/schedules/fused.hpp"
#include "models/schedules/layer_program.hpp"

namespace weft::model {

/// Appends the fused product and whoever moves its chunks to every rank's streams.
void emit_flag_program(const FusedView& view, const Knobs& knobs, std::string_view label,
                       LayerProgram& program);

/// What stands in the way of such a program, whoever's kernels it is made of; empty: nothing.
[[nodiscard]] std::vector<std::string> flag_refusals(const Boundary& boundary, const Knobs& knobs,
                                                     const Site& site);

/// A time that no run of it beats. The product's waves, with the first chunk before them where all tiles wait for
/// one and what must follow the last; or all bytes that one rank's movers carry, with the tiles that must come
/// before the first or after the last.
[[nodiscard]] Duration flag_bound(const FusedView& view, const Knobs& knobs, const Site& site);

}  // namespace weft::model
