// SPDX-License-Identifier: Apache-2.0
// Times as the plain numbers that a least-squares fit works on.
#pragma once

#include <cmath>

#include "sim/units/time.hpp"

namespace weft::calibration {

[[nodiscard]] inline double microseconds(Duration time) {
  return static_cast<double>(time.ps()) * 1e-6;
}
/// To the nearest picosecond.
[[nodiscard]] inline Duration from_microseconds(double us) {
  return Duration::from_ps(std::llround(us * 1e6));
}

}  // namespace weft::calibration
