// SPDX-License-Identifier: Apache-2.0
// Fits what traffic between devices costs a product beside it, over links of their own: the median over products and
// directions of (beside the traffic) / (beside as many CTAs that spin), or, of copies by engine, which hold no SM, over
// the same product alone. CTAs that fetch are measured by their count.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with those terms of interference that the samples determine; else as it was.
[[nodiscard]] model::Profile fit_traffic_of_peers(model::Profile profile,
                                                  const std::vector<Observation>& samples);

}  // namespace weft::calibration
