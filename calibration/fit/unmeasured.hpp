// SPDX-License-Identifier: Apache-2.0
// Terms that are fitted from cases of their own and kept where there are none: said, with the suite that measures them.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/fit/primitive_fit.hpp"

namespace weft::calibration {

/// Those between GPUs only where some sample is of several GPUs.
[[nodiscard]] std::vector<Gap> unmeasured(const std::vector<Observation>& samples);

}  // namespace weft::calibration
