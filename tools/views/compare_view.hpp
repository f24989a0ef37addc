// SPDX-License-Identifier: Apache-2.0
// A comparison of schedules as text or as a picture: their timelines under each other on one axis, and the four
// controls of each: compute alone (A_s), communication alone (B_s), unfused (C) and the schedule (D).
#pragma once

#include <string>

#include "models/planner/comparison.hpp"

namespace weft::tool {

[[nodiscard]] std::string describe(const model::Comparison& comparison, const sim::Effects& effects,
                                   bool colour);

/// The same as an SVG document.
[[nodiscard]] std::string to_svg(const model::Comparison& comparison, const sim::Effects& effects);

}  // namespace weft::tool
