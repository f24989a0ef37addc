// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabric.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/reverse_graph.hpp>

#include "sim/units/check.hpp"

namespace weft::topology {
namespace {

// Latency in the high part, one a hop in the low part: paths compare by latency, then by hops.
constexpr std::int64_t hop_bits = 12;
constexpr std::int64_t hop_cost = 1;
constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t most_paths = std::int64_t{1} << 31;

struct EdgeProperty {
  std::int64_t cost = 0;
  std::uint32_t link = 0;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, EdgeProperty>;

bool forwards(VertexKind kind) {
  return kind == VertexKind::fabric_switch || kind == VertexKind::nic;
}

std::int64_t cost_of(const sim::Link& link) {
  return narrow((static_cast<Int128>(link.latency.ps()) << hop_bits) + hop_cost);
}

// The graph of links that a path from `from` may use: those of forwarding vertices and of `from` itself.
Graph graph_from(const Fabric& fabric, VertexId from, const std::set<VertexId>& avoided) {
  Graph graph(fabric.vertices.size());
  for (std::uint32_t i = 0; i < fabric.links.size(); ++i) {
    const FabricLink& link = fabric.links[i];
    const Vertex& tail = fabric.vertices.at(link.from.value());
    if ((link.from != from && !forwards(tail.kind)) || avoided.contains(link.to)) continue;
    boost::add_edge(link.from.value(), link.to.value(), EdgeProperty{cost_of(link.link), i}, graph);
  }
  return graph;
}

// The vertices that forward these paths.
std::set<VertexId> forwarders_of(const ShortestPaths& paths, const Fabric& fabric, VertexId to) {
  std::set<VertexId> result;
  for (const PathShare& share : paths.shares) {
    const VertexId head = fabric.links[share.link].to;
    if (head != to) result.insert(head);
  }
  return result;
}

bool any_nic(const std::set<VertexId>& vertices, const Fabric& fabric) {
  return std::any_of(vertices.begin(), vertices.end(), [&](VertexId vertex) {
    return fabric.vertices[vertex.value()].kind == VertexKind::nic;
  });
}

// No other way can carry more than the links that leave `from` for elsewhere.
bool more_leaves(const Fabric& fabric, VertexId from, const std::set<VertexId>& avoided,
                 Bandwidth rate) {
  Bandwidth sum;
  for (const FabricLink& link : fabric.links) {
    if (link.from == from && !avoided.contains(link.to)) sum += link.link.capacity_per_direction;
  }
  return sum > rate;
}

std::optional<ShortestPaths> widest_of_shortest(const Fabric& fabric, VertexId from, VertexId to) {
  std::optional<ShortestPaths> best = shortest_paths(fabric, from, to);
  if (!best || best->shares.empty()) return best;
  std::set<VertexId> avoided = forwarders_of(*best, fabric, to);
  if (any_nic(avoided, fabric)) return best;
  while (more_leaves(fabric, from, avoided, rate_of(*best, fabric))) {
    std::optional<ShortestPaths> other = shortest_paths(fabric, from, to, avoided);
    if (!other) break;
    const std::set<VertexId> by = forwarders_of(*other, fabric, to);
    // A direct link, or the way out of the node, is no other way between peers.
    if (by.empty() || any_nic(by, fabric)) break;
    if (rate_of(*other, fabric) > rate_of(*best, fabric)) best = std::move(other);
    avoided.insert(by.begin(), by.end());
  }
  return best;
}

}  // namespace

Bandwidth rate_of(const ShortestPaths& paths, const Fabric& fabric) {
  std::optional<Bandwidth> rate;
  for (const PathShare& share : paths.shares) {
    const Bandwidth whole = Bandwidth::from_bytes_per_second(
        narrow(Int128{fabric.links[share.link].link.capacity_per_direction.bytes_per_second()} *
               paths.total / share.count));
    if (!rate || whole < *rate) rate = whole;
  }
  return rate.value_or(Bandwidth());
}

sim::LinkEnd link_end(const Vertex& vertex, const sim::Machine& machine,
                      const std::vector<sim::MemoryId>& hosts) {
  switch (vertex.kind) {
    case VertexKind::device:
      return {sim::LinkEnd::Of::memory, machine.devices[vertex.index].memory.value()};
    case VertexKind::host:
      return {sim::LinkEnd::Of::memory, hosts[vertex.index].value()};
    case VertexKind::fabric_switch:
      return {sim::LinkEnd::Of::fabric_switch, vertex.index};
    case VertexKind::nic:
      break;
  }
  return {sim::LinkEnd::Of::nic, vertex.index};
}

std::optional<ShortestPaths> shortest_paths(const Fabric& fabric, VertexId from, VertexId to,
                                            const std::set<VertexId>& avoided) {
  const Graph graph = graph_from(fabric, from, avoided);
  std::vector<std::int64_t> distance(fabric.vertices.size(), unreachable);
  boost::dijkstra_shortest_paths(graph, from.value(),
                                 boost::weight_map(boost::get(&EdgeProperty::cost, graph))
                                     .distance_map(boost::make_iterator_property_map(
                                         distance.begin(), boost::get(boost::vertex_index, graph)))
                                     .distance_inf(unreachable));
  if (distance[to.value()] == unreachable) return std::nullopt;

  // Every edge that closes its distance lies on a shortest path. Count paths forward in order of distance,
  // then walk back from the target: an edge carries (paths to its tail) x (paths from its head to the target).
  const auto on_shortest = [&](const auto& edge) {
    const std::int64_t tail = distance[boost::source(edge, graph)];
    return tail != unreachable && tail + graph[edge].cost == distance[boost::target(edge, graph)];
  };
  std::vector<std::size_t> order;
  for (std::size_t v = 0; v < distance.size(); ++v) {
    if (distance[v] != unreachable) order.push_back(v);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(distance[a], a) < std::pair(distance[b], b);
  });
  std::vector<std::int64_t> paths_to(distance.size(), 0);
  std::vector<std::int64_t> paths_on(distance.size(), 0);
  paths_to[from.value()] = 1;
  for (const std::size_t v : order) {
    for (auto [edge, end] = boost::out_edges(v, graph); edge != end; ++edge) {
      if (!on_shortest(*edge)) continue;
      std::int64_t& count = paths_to[boost::target(*edge, graph)];
      count = checked_add(count, paths_to[v]);
      if (count > most_paths) throw std::overflow_error("more than 2^31 equal paths");
    }
  }
  paths_on[to.value()] = 1;
  ShortestPaths result;
  result.total = paths_to[to.value()];
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    if (paths_on[*v] == 0) continue;
    for (auto [edge, end] = boost::in_edges(*v, graph); edge != end; ++edge) {
      if (!on_shortest(*edge)) continue;
      const std::size_t tail = boost::source(*edge, graph);
      paths_on[tail] = checked_add(paths_on[tail], paths_on[*v]);
      result.shares.push_back({graph[*edge].link, checked_multiply(paths_to[tail], paths_on[*v])});
    }
  }
  std::sort(result.shares.begin(), result.shares.end(),
            [](const PathShare& a, const PathShare& b) { return a.link < b.link; });
  result.latency = Duration::from_ps(distance[to.value()] >> hop_bits);
  return result;
}

std::optional<sim::Route> unicast_route(const Fabric& fabric, VertexId from, VertexId to,
                                        sim::MemoryId source, sim::MemoryId target) {
  const auto paths = widest_of_shortest(fabric, from, to);
  if (!paths) return std::nullopt;
  sim::Route route;
  route.name = fabric.vertices[from.value()].name + "->" + fabric.vertices[to.value()].name;
  route.sources = {source};
  route.targets = {target};
  route.denominator = paths->total;
  route.latency = paths->latency;
  std::map<std::uint32_t, std::int64_t> through_switch;
  for (const PathShare& share : paths->shares) {
    route.shares.push_back({sim::RouteShare::On::link, share.link, share.count});
    const Vertex& head = fabric.vertices[fabric.links[share.link].to.value()];
    if (head.kind == VertexKind::fabric_switch) through_switch[head.index] += share.count;
    if (head.kind == VertexKind::nic && !route.nic) route.nic = sim::NicId(head.index);
  }
  for (const auto& [index, count] : through_switch) {
    route.shares.push_back({sim::RouteShare::On::fabric_switch, index, count});
  }
  return route;
}

std::optional<sim::Route> tree_route(const Fabric& fabric, const std::vector<sim::Switch>& switches,
                                     TreeKind kind, VertexId root,
                                     const std::vector<VertexId>& leaves) {
  // hops[switch][vertex]: the links that join them, in the direction that the tree's bytes go.
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> root_side;
  std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> leaf_side;
  for (std::uint32_t i = 0; i < fabric.links.size(); ++i) {
    const FabricLink& link = fabric.links[i];
    const bool to_switch = fabric.vertices[link.to.value()].kind == VertexKind::fabric_switch;
    const bool from_switch = fabric.vertices[link.from.value()].kind == VertexKind::fabric_switch;
    if (to_switch == from_switch) continue;
    const VertexId at = to_switch ? link.to : link.from;
    const VertexId end = to_switch ? link.from : link.to;
    const bool near_root = to_switch == (kind == TreeKind::multicast);
    (near_root ? root_side : leaf_side)[at.value()][end.value()].push_back(i);
  }
  const auto able = [&](std::uint32_t vertex) {
    const sim::Switch& fabric_switch = switches.at(fabric.vertices[vertex].index);
    return kind == TreeKind::multicast ? fabric_switch.multicasts : fabric_switch.reduces;
  };
  std::vector<std::uint32_t> planes;
  for (const auto& [vertex, ends] : root_side) {
    if (!able(vertex) || !ends.contains(root.value())) continue;
    const auto& reached = leaf_side[vertex];
    const bool all = std::all_of(leaves.begin(), leaves.end(),
                                 [&](VertexId leaf) { return reached.contains(leaf.value()); });
    if (all) planes.push_back(vertex);
  }
  if (planes.empty()) return std::nullopt;

  // Every plane carries an equal share; parallel links of one port split it again.
  std::int64_t denominator = static_cast<std::int64_t>(planes.size());
  std::int64_t ports = 1;
  for (const std::uint32_t plane : planes) {
    ports = std::lcm(ports, static_cast<std::int64_t>(root_side[plane][root.value()].size()));
    for (const VertexId leaf : leaves) {
      ports = std::lcm(ports, static_cast<std::int64_t>(leaf_side[plane][leaf.value()].size()));
    }
  }
  sim::Route route;
  route.kind = kind == TreeKind::multicast ? sim::Route::Kind::multicast : sim::Route::Kind::reduce;
  route.denominator = checked_multiply(denominator, ports);
  Duration up, down;
  const auto charge = [&](const std::vector<std::uint32_t>& links, Duration& latency) {
    for (const std::uint32_t link : links) {
      route.shares.push_back(
          {sim::RouteShare::On::link, link, ports / static_cast<std::int64_t>(links.size())});
      latency = std::max(latency, fabric.links[link].link.latency);
    }
  };
  for (const std::uint32_t plane : planes) {
    charge(root_side[plane][root.value()], up);
    for (const VertexId leaf : leaves) charge(leaf_side[plane][leaf.value()], down);
    route.shares.push_back(
        {sim::RouteShare::On::fabric_switch, fabric.vertices[plane].index, ports});
  }
  std::sort(route.shares.begin(), route.shares.end(), [](const auto& a, const auto& b) {
    return std::pair(a.on, a.index) < std::pair(b.on, b.index);
  });
  route.latency = up + down;
  route.name =
      fabric.vertices[root.value()].name + (kind == TreeKind::multicast ? "=>all" : "<=all");
  return route;
}

}  // namespace weft::topology
