// SPDX-License-Identifier: Apache-2.0
// One sentence for each pick: what overlapping gains or loses, and through what.
#pragma once

#include <string>

#include "models/planner/search.hpp"

namespace weft::model {

/// Why the search's best is the best. `rival`: every figure of the best candidate that overlaps, where the
/// pick does not and there is one.
[[nodiscard]] std::string reason_for(const BoundarySearch& search, const Figures& pick,
                                     const std::optional<BoundaryFigures>& rival);

}  // namespace weft::model
