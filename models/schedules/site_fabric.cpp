// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/site_fabric.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

namespace weft::model {
namespace {

// Whether a switch on the way between two nodes reduces and multicasts: those inside a node join its devices only.
bool reduces_between(const topology::Built& built, const sim::Route& route) {
  return std::any_of(route.shares.begin(), route.shares.end(), [&](const sim::RouteShare& share) {
    if (share.on != sim::RouteShare::On::fabric_switch) return false;
    const sim::Switch& passed = built.machine.switches.at(share.index);
    return passed.reduces && passed.multicasts;
  });
}

// What a rank sends its peers of one node where all send to all at once: over links of their own, as in a mesh, that is
// more than one of them carries. Zero: over no link.
Bandwidth exchange_rate(const topology::Built& built) {
  const std::size_t ranks = built.machine.ranks.size();
  std::vector<const sim::Route*> routes;
  std::int64_t common = 1, peers = 0;
  for (std::size_t from = 0; from < ranks; ++from) {
    std::int64_t reached = 0;
    for (std::size_t to = 0; to < ranks; ++to) {
      const sim::Route& route = built.machine.routes.at(built.unicast[from][to].value());
      if (built.node_of_rank[from] != built.node_of_rank[to] || route.shares.empty()) continue;
      routes.push_back(&route);
      common = std::lcm(common, route.denominator);
      ++reached;
    }
    peers = from == 0 ? reached : std::min(peers, reached);
  }
  std::map<std::uint32_t, std::int64_t> load;  // of a link
  for (const sim::Route* route : routes) {
    for (const sim::RouteShare& share : route->shares) {
      if (share.on == sim::RouteShare::On::link)
        load[share.index] += share.numerator * (common / route->denominator);
    }
  }
  std::optional<Bandwidth> rate;
  for (const auto& [index, parts] : load) {
    const Bandwidth capacity = built.machine.links.at(index).capacity_per_direction;
    const Bandwidth all = Bandwidth::from_bytes_per_second(
        narrow(Int128{capacity.bytes_per_second()} * peers * common / parts));
    if (!rate || all < *rate) rate = all;
  }
  return rate.value_or(Bandwidth());
}

}  // namespace

Bandwidth rate_over(const sim::Machine& machine, const sim::RouteShare& share,
                    std::int64_t denominator) {
  const Bandwidth link = machine.links.at(share.index).capacity_per_direction;
  return Bandwidth::from_bytes_per_second(
      narrow(Int128{link.bytes_per_second()} * denominator / share.numerator));
}

Bandwidth route_rate(const topology::Built& built, sim::RouteId id) {
  const sim::Route& route = built.machine.routes.at(id.value());
  std::optional<Bandwidth> rate;
  for (const sim::RouteShare& share : route.shares) {
    if (share.on != sim::RouteShare::On::link) continue;
    const Bandwidth whole = rate_over(built.machine, share, route.denominator);
    if (!rate || whole < *rate) rate = whole;
  }
  return rate.value_or(Bandwidth());
}

Fabric fabric_between(const topology::Built& built) {
  Fabric fabric;
  const int ranks = static_cast<int>(built.machine.ranks.size());
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      if (from == to) continue;
      const sim::RouteId id =
          built.unicast[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
      const sim::Route& route = built.machine.routes.at(id.value());
      const Bandwidth rate = route_rate(built, id);
      if (rate == Bandwidth()) continue;
      const bool crosses = built.node_of_rank[static_cast<std::size_t>(from)] !=
                           built.node_of_rank[static_cast<std::size_t>(to)];
      Bandwidth& slot = crosses ? fabric.nic_per_direction : fabric.gpu_per_direction;
      Duration& latency = crosses ? fabric.nic_latency : fabric.gpu_latency;
      if (crosses && reduces_between(built, route)) fabric.network_reduces = true;
      if (slot == Bandwidth() || rate < slot) slot = rate;
      latency = std::max(latency, route.latency);
    }
  }
  fabric.gpu_per_direction = std::max(fabric.gpu_per_direction, exchange_rate(built));
  fabric.switch_reduces = !built.reduce.empty() && !built.multicast.empty();
  if (fabric.switch_reduces) {
    // Trees pass the switch by its own links, also where peers have a wider way to each other.
    fabric.switch_per_direction = Bandwidth::max();
    for (const auto* trees : {&built.reduce, &built.multicast}) {
      for (const sim::RouteId id : *trees)
        fabric.switch_per_direction = std::min(fabric.switch_per_direction, route_rate(built, id));
    }
  }
  std::set<std::uint32_t> nics;
  for (const sim::Route& route : built.machine.routes) {
    if (route.nic) nics.insert(route.nic->value());
  }
  const std::set<std::int64_t> nodes(built.node_of_rank.begin(), built.node_of_rank.end());
  if (!nodes.empty()) fabric.nics_per_node = static_cast<std::int64_t>(nics.size() / nodes.size());
  return fabric;
}

void bound_nics(const Profile& profile, const topology::Built& built, Fabric& fabric) {
  const double reached = profile.network ? profile.network->efficiency.value : 1.0;
  for (const sim::Route& route : built.machine.routes) {
    if (!route.nic) continue;
    for (const sim::RouteShare& share : route.shares) {
      const bool is_link = share.on == sim::RouteShare::On::link;
      const std::optional<Bandwidth> capacity =
          is_link ? built.machine.links.at(share.index).capacity_per_direction
                  : built.machine.switches.at(share.index).capacity;
      if (!capacity) continue;
      // A switch counts what passes it either way, a link each way for itself.
      const double most = static_cast<double>(route.denominator) /
                          static_cast<double>(share.numerator * (is_link ? 1 : 2)) / reached;
      fabric.nic_per_direction = std::min(
          fabric.nic_per_direction, Bandwidth::from_bytes_per_second(std::llround(
                                        static_cast<double>(capacity->bytes_per_second()) * most)));
    }
  }
}

}  // namespace weft::model
