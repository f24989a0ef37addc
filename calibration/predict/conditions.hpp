// SPDX-License-Identifier: Apache-2.0
// The SM clock that a case was measured at. Cases of a job are measured in turns, so that what all of them draw sets
// one clock for each of them: it is a condition of the measurement, as the machine is.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/accuracy/evidence.hpp"

namespace weft::calibration {

/// The highest SM clock that any of the samples ran at, in MHz; 0: none says.
[[nodiscard]] int highest_clock(const std::vector<Observation>& samples);

/// The clock of a sample over `boost`, in thousandths; 1000 where one of them is not known.
[[nodiscard]] std::int64_t speed_permille(const Sample& sample, int boost);

}  // namespace weft::calibration
