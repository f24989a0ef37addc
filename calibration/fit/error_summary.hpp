// SPDX-License-Identifier: Apache-2.0
// How far predictions are from measurements: fractions of the measured time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/profile/profile.hpp"
#include "sim/units/time.hpp"

namespace weft::calibration {

struct Prediction {
  Duration predicted, measured;
};

/// |predicted/measured - 1|: median (upper of two middles), 95th percentile (nearest rank), worst; bias is the
/// mean with its sign. The family has no rows and zeros where there are no predictions.
[[nodiscard]] model::FamilyError summarise(std::string family,
                                           const std::vector<Prediction>& predictions,
                                           model::Source source);

}  // namespace weft::calibration
