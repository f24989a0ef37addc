// SPDX-License-Identifier: Apache-2.0
// Fits what copies by engine cost a product beside them: the median over products and both directions of the host link
// of (beside the copies) / (alone on as many SMs). Copies hold no SM, so that nothing of it is residency. Copies both
// ways at once are taken to cost twice that: each brings its own bytes through the L2 and the HBM.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with that term of interference, if the samples determine it; else as it was.
[[nodiscard]] model::Profile fit_copies_beside(model::Profile profile,
                                               const std::vector<Observation>& samples);

}  // namespace weft::calibration
