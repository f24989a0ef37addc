// SPDX-License-Identifier: Apache-2.0
// Fits what lies behind a tile that posts flags (models/cost/tile_flags.hpp): what each slot of its store takes, and each
// chunk that its rows lie in, by
//
//   product whose tiles post flags = the same product alone + shown behind the last tile + exposed * (waves - 1)
//
// over reductions whose weights stay in the L2, at every chunk count, by every tile that ran. Where one ran with a margin,
// by another tile on fewer SMs, what that makes of the product alone is the price's.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with the cost of a tile's flag and of a store slot, if the samples determine them; else as it was.
[[nodiscard]] model::Profile fit_tile_flags(model::Profile profile,
                                            const std::vector<Observation>& samples);

}  // namespace weft::calibration
