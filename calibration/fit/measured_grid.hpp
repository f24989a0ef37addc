// SPDX-License-Identifier: Apache-2.0
// The library's products as grids of rows of one N, K and SM count, which override the model between them.
#pragma once

#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The grids of cuBLASLt's first proposals, by N, K, SM count and then m; the median of a row's times.
[[nodiscard]] std::vector<model::MeasuredProducts> measured_grids(
    const std::vector<Observation>& samples, const std::string& reference);

/// The same of products on a part of the device, by the SMs of a part.
[[nodiscard]] std::vector<model::MeasuredProducts> measured_on_parts(
    const std::vector<Observation>& samples, const model::GpuFigures& gpu,
    const std::string& reference);

}  // namespace weft::calibration
