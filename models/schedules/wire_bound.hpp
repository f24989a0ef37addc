// SPDX-License-Identifier: Apache-2.0
// What the wire alone takes of a collective whose ranks exchange their rows straight: each link carries what the routes
// between all pairs of ranks send over it, whoever moves it and in whatever order.
#pragma once

#include "models/schedules/fused.hpp"
#include "models/schedules/site.hpp"

namespace weft::model {

/// The time of the link that takes longest for what it carries; zero where not every rank runs. What is reduced goes to
/// its owner, and of an all-reduce the sum goes back from there.
[[nodiscard]] Duration wire_bound(const FusedView& view, const Site& site);

}  // namespace weft::model
