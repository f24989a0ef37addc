// SPDX-License-Identifier: Apache-2.0
// A plan as text and as JSON (weft.plan/1, docs/output.md).
#pragma once

#include <string>
#include <vector>

#include "configs/reader/value.hpp"
#include "models/planner/plan.hpp"

namespace weft::tool {

/// The ranked layouts, and for the best one every boundary's pick, its figures and its reason; `top` candidates each.
[[nodiscard]] std::string describe(const model::Plan& plan, int top);
[[nodiscard]] config::Value to_value(const model::Plan& plan);

/// Appends what a boundary moves: each collective's op, ranks and sizes, whole, by chunk and over the wire.
void add_collectives(const model::Boundary& boundary, const model::Knobs& knobs,
                     config::Value& object);

/// A table of boundaries, one a line.
[[nodiscard]] std::string describe_boundaries(
    const std::vector<model::BoundaryFigures>& boundaries);

}  // namespace weft::tool
