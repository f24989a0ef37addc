// SPDX-License-Identifier: Apache-2.0
// Accuracy reports as text, with the worst predictions and picks of each row, and predictions against measurements as a plot.
#pragma once

#include <string>

#include "calibration/accuracy/report.hpp"

namespace weft::tool {

/// Both tables with the bars that they are held to, a * where one is missed.
[[nodiscard]] std::string accuracy_text(const calibration::Report& report, int worst = 0);

/// An SVG of predicted against measured time, both axes logarithmic, a colour a row, with the diagonal.
[[nodiscard]] std::string accuracy_plot(const calibration::Report& report);

}  // namespace weft::tool
