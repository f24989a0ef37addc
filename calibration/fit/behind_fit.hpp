// SPDX-License-Identifier: Apache-2.0
// Fits what a product's launch takes behind another of its stream. A product is timed alone, from one event to another;
// behind another there is no event to wait for, but its operands' descriptors, its code and its first loads still come
// once the one before is done:
//
//   behind = event - (pieces, each at its price alone - all of them in one stream) / launches behind another
//
// The median over products that were cut into chunks with nothing communicated, by library and by where peers are.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with what launches behind others take, where the samples determine it; else as it was.
[[nodiscard]] model::Profile fit_behind(model::Profile profile,
                                        const std::vector<Observation>& samples);

}  // namespace weft::calibration
