// SPDX-License-Identifier: Apache-2.0
// A route as a tree of hops: what enters and leaves each place that it passes, and the fan that its
// kind declares there.
//
//   unicast      bytes out = bytes in
//   multicast    bytes to each next place = bytes in: 1 in, n out
//   reduce       bytes from each place before = bytes out: n in, 1 out
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tests/sim/laws/laws.hpp"

namespace weft::sim::laws {

/// One place on a route; shares are over Route::denominator.
struct Hop {
  LinkEnd at;
  std::map<LinkEnd, std::int64_t> in;   ///< by the place that they come from
  std::map<LinkEnd, std::int64_t> out;  ///< by the place that they go to

  [[nodiscard]] std::int64_t total_in() const;
  [[nodiscard]] std::int64_t total_out() const;
};

/// The places of a route; none where a link of it does not say what it joins.
std::optional<std::vector<Hop>> hops_of(const Machine& machine, const Route& route);

/// Bytes out for each byte in that the route's kind declares at a hop, as a fraction.
struct Fan {
  std::int64_t out = 1;
  std::int64_t in = 1;
};
Fan declared_fan(const Route& route, const Hop& hop);

/// At each hop of each route bytes out are bytes in times the declared fan, each branch alike; only
/// a switch that can fans; every byte leaves each source once and enters each target once.
Breaches hops_conserve(const Machine& machine);

}  // namespace weft::sim::laws
