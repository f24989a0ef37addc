// SPDX-License-Identifier: Apache-2.0
// What the ranks of a machine have to each other, as the prices of collectives see it: rates and latencies of the paths
// inside a node and between nodes.
#pragma once

#include "models/cost/collective.hpp"
#include "models/profile/profile.hpp"
#include "topologies/build.hpp"

namespace weft::model {

/// What a route carries that asks for this share of a link, if the link is its narrowest.
[[nodiscard]] Bandwidth rate_over(const sim::Machine& machine, const sim::RouteShare& share,
                                  std::int64_t denominator);

/// A route's rate: that of its narrowest link for the share that the link carries; zero: it crosses none.
[[nodiscard]] Bandwidth route_rate(const topology::Built& built, sim::RouteId id);

/// The fabric between the ranks of a machine, by the rates that its links have now.
[[nodiscard]] Fabric fabric_between(const topology::Built& built);

/// Bounds the NICs of a fabric by the links to host memory that they hang on: one that these hold back counts as one whose
/// share of its rate that messages reach is what they carry both ways at once.
void bound_nics(const Profile& profile, const topology::Built& built, Fabric& fabric);

}  // namespace weft::model
