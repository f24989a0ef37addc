// SPDX-License-Identifier: Apache-2.0
// From samples to a profile: every group of constants that the samples determine, fitted anew.
#pragma once

#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/fit/primitive_fit.hpp"
#include "calibration/fit/product_fit.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// Whether a sample is a collective of NCCL as it chooses for itself. Those that weft-measure runs between peers are
/// not: they leave the switch's multicast off.
[[nodiscard]] bool is_library_collective(const Observation& seen);

/// One fitted constant: its name, value in the unit of the fit, and one standard error as a fraction.
struct FittedNumber {
  std::string group, name;
  double value = 0, relative_error = 0;
  bool determined = true, at_bound = false;
};

/// A fit and what is to be said about it.
struct FittedProfile {
  model::Profile profile;
  std::vector<std::string> groups;  ///< "GEMM: 1200 rows"
  std::vector<FittedNumber> numbers;
  std::vector<Outlier> outliers;
  std::vector<std::string> throttled;  ///< rows left out because the device throttled
  std::vector<Gap> gaps;  ///< what the samples do not determine: those constants are kept
};

/// Fits what the samples determine, keeps the rest. `reference` names the samples in the sources.
[[nodiscard]] FittedProfile fit_samples(const model::Profile& start,
                                        const std::vector<Observation>& samples,
                                        const std::string& reference);

/// The profile of fit_samples alone.
[[nodiscard]] model::Profile fit_profile(const model::Profile& start,
                                         const std::vector<Observation>& samples);

}  // namespace weft::calibration
