// SPDX-License-Identifier: Apache-2.0
// Fits what a tile pays for a flag that its chunk is complete by: the flag follows the tile's store, which is hidden
// behind the next tile where nobody waits for it.
//
//   time per wave = (product whose tiles post flags, nothing moved - the same product alone) / waves
//
// The median over products of two ranks in one chunk each: their rows are walked as those of the product alone are.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with the cost of a tile's flag, if the samples determine it; else as it was.
[[nodiscard]] model::Profile fit_tile_flags(model::Profile profile,
                                            const std::vector<Observation>& samples);

}  // namespace weft::calibration
