// SPDX-License-Identifier: Apache-2.0
#include "calibration/predict/conditions.hpp"

#include <algorithm>

namespace weft::calibration {

int highest_clock(const std::vector<Observation>& samples) {
  int highest = 0;
  for (const Observation& seen : samples)
    highest = std::max(highest, seen.sample->conditions.sm_mhz);
  return highest;
}

std::int64_t speed_permille(const Sample& sample, int boost) {
  const int clock = sample.conditions.sm_mhz;
  if (boost <= 0 || clock <= 0) return 1000;
  return std::min<std::int64_t>(1000, std::int64_t{clock} * 1000 / boost);
}

}  // namespace weft::calibration
