// SPDX-License-Identifier: Apache-2.0
// Fits what a launch beside CTAs that read or write host memory takes longer: it waits for what they have in flight,
// which queues for the link. Chunks of a gather are launched one by one; of two that differ in who moves the bytes,
//
//   launches beside * delay = (D - A_s by CTAs) - (D - A_s by copy engine) - B_s (1 - 1 / slow-down)
//   launches beside         = (B_s - own product) / (product of a chunk)
//
// over those whose product takes longer than the communication, so that all of it lies under the product.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile whose terms have the delay, if the samples determine it; else as it was.
[[nodiscard]] model::Profile fit_launch_delay(model::Profile profile,
                                              const std::vector<Observation>& samples);

}  // namespace weft::calibration
