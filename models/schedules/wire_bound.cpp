// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/wire_bound.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/schedules/pair_schedule.hpp"

namespace weft::model {
namespace {

Bytes sent(const FusedView& view, int from, int to) {
  const auto rows = [&](int owner) {
    return bytes_of(view.collective.format,
                    rows_of_owner(view, owner).rows() * view.collective.extent.columns);
  };
  switch (view.collective.op) {
    case CollectiveOp::all_gather:
      return rows(from);
    case CollectiveOp::reduce_scatter:
      return rows(to);
    case CollectiveOp::all_to_all:
      return view.bytes(view.exchanged(from, rows_of_owner(view, from), to));
    case CollectiveOp::all_reduce:  // to its owner, and the sum back
      return rows(to) + rows(from);
  }
  return {};
}

}  // namespace

Duration wire_bound(const FusedView& view, const Site& site) {
  if (site.running() != site.ranks()) return {};
  const sim::Machine& machine = site.built.machine;
  std::vector<double> bytes(machine.links.size());
  for (int from = 0; from < view.collective.group; ++from) {
    for (int to = 0; to < view.collective.group; ++to) {
      if (from == to) continue;
      const sim::RouteId id =
          site.built.unicast[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      const sim::Route& route = machine.routes.at(id.value());
      const auto whole = static_cast<double>(sent(view, from, to).count());
      for (const sim::RouteShare& share : route.shares) {
        if (share.on != sim::RouteShare::On::link) continue;
        bytes[share.index] +=
            whole * static_cast<double>(share.numerator) / static_cast<double>(route.denominator);
      }
    }
  }
  double longest = 0;  // seconds
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] == 0) continue;
    const Bandwidth rate = machine.links[link].capacity_per_direction;
    longest = std::max(longest, bytes[link] / static_cast<double>(rate.bytes_per_second()));
  }
  // A run rounds every transfer to the picosecond: a part in a million below what is exact is below all of them.
  constexpr double kBelow = 1 - 1e-6;
  return Duration::from_ps(static_cast<std::int64_t>(longest * kBelow * 1e12));
}

}  // namespace weft::model
