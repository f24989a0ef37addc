// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabric.hpp"

#include <gtest/gtest.h>

namespace weft::topology {
namespace {

using namespace weft::literals;

struct Net {
  Fabric fabric;
  std::vector<sim::Switch> switches;

  VertexId add(VertexKind kind, std::string name) {
    std::uint32_t index = 0;
    for (const Vertex& vertex : fabric.vertices) index += vertex.kind == kind ? 1 : 0;
    if (kind == VertexKind::fabric_switch) switches.push_back({name, std::nullopt, true, true});
    fabric.vertices.push_back({kind, std::move(name), index});
    return VertexId(static_cast<std::uint32_t>(fabric.vertices.size() - 1));
  }
  void join(VertexId a, VertexId b, Duration latency = 100_ns, Bandwidth rate = 100_GBps) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      fabric.links.push_back({from, to, {"", rate, latency}});
    }
  }
};

// The common root of two devices is nearer than their switch and carries less: peers take the switch, or all of its
// planes; what leaves by a NIC takes the nearest.
TEST(Routes, PeersTakeTheWayThatCarriesMore) {
  for (const int planes : {1, 2, 4}) {
    Net net;
    const VertexId a = net.add(VertexKind::device, "a");
    const VertexId b = net.add(VertexKind::device, "b");
    const VertexId root = net.add(VertexKind::fabric_switch, "root");
    net.join(a, root, 50_ns, 60_GBps);
    net.join(root, b, 50_ns, 60_GBps);
    for (int p = 0; p < planes; ++p) {
      const VertexId plane = net.add(VertexKind::fabric_switch, "plane");
      net.join(a, plane, 100_ns, 40_GBps);
      net.join(plane, b, 100_ns, 40_GBps);
    }
    const auto route = unicast_route(net.fabric, a, b, sim::MemoryId(0), sim::MemoryId(1));
    ASSERT_TRUE(route.has_value());
    EXPECT_EQ(route->denominator, planes == 1 ? 1 : planes);
    EXPECT_EQ(route->latency, planes == 1 ? 100_ns : 200_ns);
  }
}

// k planes between two devices: every path has two hops, each link carries 1/k of the bytes.
TEST(Routes, TrafficIsStripedEvenlyOverEqualPaths) {
  for (const int planes : {1, 2, 4, 18}) {
    Net net;
    const VertexId a = net.add(VertexKind::device, "a");
    const VertexId b = net.add(VertexKind::device, "b");
    for (int p = 0; p < planes; ++p) {
      const VertexId plane = net.add(VertexKind::fabric_switch, "plane");
      net.join(a, plane);
      net.join(plane, b);
    }
    const auto route = unicast_route(net.fabric, a, b, sim::MemoryId(0), sim::MemoryId(1));
    ASSERT_TRUE(route.has_value());
    EXPECT_EQ(route->denominator, planes);
    EXPECT_EQ(route->latency, 200_ns);
    int links = 0;
    for (const sim::RouteShare& share : route->shares) {
      EXPECT_EQ(share.numerator, 1);
      links += share.on == sim::RouteShare::On::link ? 1 : 0;
    }
    EXPECT_EQ(links, 2 * planes);
  }
}

// Two parallel cables to one switch and one from it: two paths, each first cable carries half, the last all.
TEST(Routes, ParallelLinksAreParallelPaths) {
  Net net;
  const VertexId a = net.add(VertexKind::device, "a");
  const VertexId b = net.add(VertexKind::device, "b");
  const VertexId hub = net.add(VertexKind::fabric_switch, "hub");
  net.join(a, hub);
  net.join(a, hub);
  net.join(hub, b);
  const auto paths = shortest_paths(net.fabric, a, b);
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(paths->total, 2);
  ASSERT_EQ(paths->shares.size(), 3U);
  EXPECT_EQ(paths->shares[0].count, 1);
  EXPECT_EQ(paths->shares[1].count, 1);
  EXPECT_EQ(paths->shares[2].count, 2);
}

// Conservation: what leaves the source and what enters the target is the whole, whatever lies between.
TEST(Routes, SharesIntoTheTargetSumToTheWhole) {
  Net net;
  const VertexId a = net.add(VertexKind::device, "a");
  const VertexId b = net.add(VertexKind::device, "b");
  std::vector<VertexId> first, second;
  for (int i = 0; i < 3; ++i) first.push_back(net.add(VertexKind::fabric_switch, "leaf"));
  for (int i = 0; i < 2; ++i) second.push_back(net.add(VertexKind::fabric_switch, "spine"));
  for (const VertexId leaf : first) {
    net.join(a, leaf);
    for (const VertexId spine : second) net.join(leaf, spine);
  }
  for (const VertexId spine : second) net.join(spine, b);
  const auto paths = shortest_paths(net.fabric, a, b);
  ASSERT_TRUE(paths.has_value());
  std::int64_t out = 0, in = 0;
  for (const PathShare& share : paths->shares) {
    if (net.fabric.links[share.link].from == a) out += share.count;
    if (net.fabric.links[share.link].to == b) in += share.count;
  }
  EXPECT_EQ(paths->total, 6);
  EXPECT_EQ(out, paths->total);
  EXPECT_EQ(in, paths->total);
}

TEST(Routes, DevicesAndHostsDoNotForward) {
  Net net;
  const VertexId a = net.add(VertexKind::device, "a");
  const VertexId middle = net.add(VertexKind::device, "middle");
  const VertexId host = net.add(VertexKind::host, "host");
  const VertexId b = net.add(VertexKind::device, "b");
  net.join(a, middle);
  net.join(middle, b);
  net.join(a, host);
  net.join(host, b);
  EXPECT_FALSE(shortest_paths(net.fabric, a, b).has_value());
  EXPECT_TRUE(shortest_paths(net.fabric, a, middle).has_value());
}

TEST(Routes, LatencyCountsBeforeHops) {
  Net net;
  const VertexId a = net.add(VertexKind::device, "a");
  const VertexId b = net.add(VertexKind::device, "b");
  const VertexId slow = net.add(VertexKind::fabric_switch, "slow");
  const VertexId quick1 = net.add(VertexKind::fabric_switch, "quick1");
  const VertexId quick2 = net.add(VertexKind::fabric_switch, "quick2");
  net.join(a, slow, 500_ns);
  net.join(slow, b, 500_ns);
  net.join(a, quick1, 100_ns);
  net.join(quick1, quick2, 100_ns);
  net.join(quick2, b, 100_ns);
  const auto paths = shortest_paths(net.fabric, a, b);
  ASSERT_TRUE(paths.has_value());
  EXPECT_EQ(paths->latency, 300_ns);
  EXPECT_EQ(paths->shares.size(), 3U);
}

// A tree through one switch: one port in, n ports out; the reduction is its mirror image.
TEST(Trees, MulticastUsesOnePortInAndEveryPortOut) {
  Net net;
  const VertexId hub = net.add(VertexKind::fabric_switch, "hub");
  std::vector<VertexId> devices;
  for (int i = 0; i < 4; ++i) {
    devices.push_back(net.add(VertexKind::device, "d"));
    net.join(devices.back(), hub);
  }
  for (const TreeKind kind : {TreeKind::multicast, TreeKind::reduce}) {
    const auto route = tree_route(net.fabric, net.switches, kind, devices[0], devices);
    ASSERT_TRUE(route.has_value());
    EXPECT_EQ(route->denominator, 1);
    int to_hub = 0, from_hub = 0;
    for (const sim::RouteShare& share : route->shares) {
      if (share.on != sim::RouteShare::On::link) continue;
      EXPECT_EQ(share.numerator, 1);
      (net.fabric.links[share.index].to == hub ? to_hub : from_hub) += 1;
    }
    EXPECT_EQ(to_hub, kind == TreeKind::multicast ? 1 : 4);
    EXPECT_EQ(from_hub, kind == TreeKind::multicast ? 4 : 1);
  }
}

TEST(Trees, NeedASwitchThatCanAndReachesAll) {
  Net net;
  const VertexId hub = net.add(VertexKind::fabric_switch, "hub");
  const VertexId other = net.add(VertexKind::fabric_switch, "other");
  const VertexId a = net.add(VertexKind::device, "a");
  const VertexId b = net.add(VertexKind::device, "b");
  const VertexId c = net.add(VertexKind::device, "c");
  net.join(a, hub);
  net.join(b, hub);
  net.join(c, other);
  net.join(hub, other);
  EXPECT_TRUE(tree_route(net.fabric, net.switches, TreeKind::multicast, a, {a, b}).has_value());
  EXPECT_FALSE(tree_route(net.fabric, net.switches, TreeKind::multicast, a, {a, b, c}).has_value());
  net.switches[0].multicasts = false;
  EXPECT_FALSE(tree_route(net.fabric, net.switches, TreeKind::multicast, a, {a, b}).has_value());
}

}  // namespace
}  // namespace weft::topology
