// SPDX-License-Identifier: Apache-2.0
// The link graph of a machine and the routes over it.
//
// A route is the set of equal-cost shortest paths from one vertex to another, its traffic striped evenly over
// the paths. Cost is latency first, then hops. Where paths that share no switch with these carry more and need no
// NIC, they are the route instead: peers talk over NVLink, though their common root may be nearer. Devices and host memories end a path and never forward one:
// what a kernel forwards is a schedule's business, not the fabric's. A multicast tree is one switch (or an
// equal share on each of k parallel ones) that every member reaches in one hop.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/machine.hpp"

namespace weft::topology {

using VertexId = Id<struct VertexTag>;

enum class VertexKind : std::uint8_t { device, host, fabric_switch, nic };

struct Vertex {
  VertexKind kind = VertexKind::device;
  std::string name;
  std::uint32_t index = 0;  ///< of the machine's devices, host memories, switches or NICs
};

/// The vertex as a link's end; `hosts` are the memories of the host vertices.
[[nodiscard]] sim::LinkEnd link_end(const Vertex& vertex, const sim::Machine& machine,
                                    const std::vector<sim::MemoryId>& hosts);

/// A directed link; its place in Fabric::links is its sim::LinkId.
struct FabricLink {
  VertexId from;
  VertexId to;
  sim::Link link;
};

struct Fabric {
  std::vector<Vertex> vertices;
  std::vector<FabricLink> links;
};

/// Of `total` shortest paths, `count` use this link.
struct PathShare {
  std::uint32_t link = 0;
  std::int64_t count = 0;
};
struct ShortestPaths {
  std::vector<PathShare> shares;  ///< ascending by link
  std::int64_t total = 0;
  Duration latency;
};

/// All shortest paths between two vertices that enter no vertex of `avoided`; none where there is no path. Throws
/// std::overflow_error where the number of equal paths passes 2^31, which no fabric that people build has.
[[nodiscard]] std::optional<ShortestPaths> shortest_paths(const Fabric& fabric, VertexId from,
                                                          VertexId to,
                                                          const std::set<VertexId>& avoided = {});

/// What the paths carry together, each link loaded with its share.
[[nodiscard]] Bandwidth rate_of(const ShortestPaths& paths, const Fabric& fabric);

/// Unicast route between two memories (given by their vertices).
[[nodiscard]] std::optional<sim::Route> unicast_route(const Fabric& fabric, VertexId from,
                                                      VertexId to, sim::MemoryId source,
                                                      sim::MemoryId target);

/// Which way an in-network tree goes.
enum class TreeKind : std::uint8_t { multicast, reduce };

/// Tree between one root and its leaves over switches that can do it; none where no such switch reaches all.
[[nodiscard]] std::optional<sim::Route> tree_route(const Fabric& fabric,
                                                   const std::vector<sim::Switch>& switches,
                                                   TreeKind kind, VertexId root,
                                                   const std::vector<VertexId>& leaves);

}  // namespace weft::topology
