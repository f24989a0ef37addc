// SPDX-License-Identifier: Apache-2.0
#include "sim/machine.hpp"

#include <numeric>

namespace weft::sim {

std::optional<RouteId> Machine::route(MemoryId from, MemoryId to) const {
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const Route& route = routes[i];
    if (route.kind == Route::Kind::unicast && route.sources.size() == 1 &&
        route.sources.front() == from && route.targets.size() == 1 && route.targets.front() == to) {
      return RouteId(i);
    }
  }
  return std::nullopt;
}

int total_sms(const std::vector<int>& sms_per_gpc) {
  return std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), 0);
}

}  // namespace weft::sim
