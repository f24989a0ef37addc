// SPDX-License-Identifier: Apache-2.0
// The kernels that the vendor's library was seen to choose, which are those that a model of it can choose from.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The kernels of cuBLASLt's first proposals by tile and cluster, each with the stages that were seen most often and
/// the most parts of K; empty if there are no such samples. What a CTA holds beside its stages is that of the tile
/// of `known` with the same extents, or of its last one.
[[nodiscard]] std::vector<model::GemmTile> library_tiles(const std::vector<Observation>& samples,
                                                         const std::vector<model::GemmTile>& known);

}  // namespace weft::calibration
