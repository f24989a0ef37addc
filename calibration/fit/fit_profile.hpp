// SPDX-License-Identifier: Apache-2.0
// From samples to a profile: every group of constants that the samples determine, fitted anew.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// Whether a sample is a collective of NCCL as it chooses for itself. Those that weft-measure runs between peers are
/// not: they leave the switch's multicast off.
[[nodiscard]] bool is_library_collective(const Observation& seen);

/// The profile with the groups that the samples determine fitted anew, everything else kept.
[[nodiscard]] model::Profile fit_profile(const model::Profile& start,
                                         const std::vector<Observation>& samples);

}  // namespace weft::calibration
