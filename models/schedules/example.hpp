// SPDX-License-Identifier: Apache-2.0
// Small boundaries to show a schedule on, or to hold it to: every kind, and those with work beside the pair.
#pragma once

#include <optional>
#include <vector>

#include "models/schedules/schedule.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// A boundary with one more product of the same shape, as a wgrad, that stands so to its collective; one that stands
/// apart from a gather is launched before the product that needs it.
[[nodiscard]] Boundary with_wgrad(Boundary boundary, Relation relation);

/// Each kind for so many ranks; then an all-gather and a reduce-scatter with an independent wgrad, an all-gather with
/// a wgrad that needs it, and an all-gather in FP8.
[[nodiscard]] std::vector<Boundary> example_boundaries(const MatmulShape& global, int ranks);

/// The first of them that a schedule takes on a site with its knobs at their defaults; none: it takes none.
[[nodiscard]] std::optional<Boundary> example_of(const Schedule& schedule,
                                                 const MatmulShape& global, const Site& site);

}  // namespace weft::model
