// SPDX-License-Identifier: Apache-2.0
// Fits what a tile pays for each chunk that its rows lie in, where its store and its count are followed by the chunk's
// flag (models/cost/tile_flags.hpp):
//
//   product whose tiles post flags = the same product alone + behind the last tile + exposed * (waves - 1)
//
// the least sum of relative errors over products of two ranks whose weights stay in the L2, at every chunk count.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with the cost of a tile's flag, if the samples determine it; else as it was.
[[nodiscard]] model::Profile fit_tile_flags(model::Profile profile,
                                            const std::vector<Observation>& samples);

}  // namespace weft::calibration
