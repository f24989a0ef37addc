// SPDX-License-Identifier: Apache-2.0
#include "topologies/build.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/error.hpp"
#include "tests/sim/laws/hops.hpp"
#include "topologies/read_machine.hpp"

namespace weft::topology {
namespace {

using namespace weft::literals;

std::vector<std::filesystem::path> machine_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("configs/machines")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

MachineSpec shipped(const char* name) {
  return read_machine(std::filesystem::path("configs/machines") / name).spec;
}

// Every machine that is shipped loads, every number of it has a source, and every pair of its devices (of the
// first two nodes) has a route whose shares conserve bytes.
TEST(ShippedMachines, LoadWithSourcesAndRoutes) {
  ASSERT_GE(machine_files().size(), 11U);
  for (const auto& file : machine_files()) {
    SCOPED_TRACE(file.string());
    const MachineFile machine = read_machine(file);
    EXPECT_FALSE(machine.sources.empty());
    for (const auto& use : machine.sources) EXPECT_FALSE(use.reference.empty()) << use.json_pointer;

    const std::int64_t ranks =
        std::min<std::int64_t>(total_devices(machine.spec), 2 * devices_per_node(machine.spec));
    const Built built =
        build(machine.spec, packed_places(machine.spec, std::min<std::int64_t>(ranks, 16)));
    // Every link says what it joins, and at each hop of each route bytes out are bytes in times the fan.
    for (const sim::Link& link : built.machine.links) {
      EXPECT_TRUE(link.from && link.to) << link.name;
    }
    EXPECT_THAT(sim::laws::hops_conserve(built.machine), testing::IsEmpty());
  }
}

TEST(Build, PeersOfOneNodeMeetAtTheSwitch) {
  const Built built = build(shipped("h200x8.json"), packed_places(shipped("h200x8.json"), 8));
  const sim::Route& route = built.machine.routes.at(built.unicast[0][1].value());
  EXPECT_EQ(route.latency, 600_ns);
  EXPECT_EQ(built.machine.links.at(route.shares.at(0).index).capacity_per_direction, 450_GBps);
  EXPECT_FALSE(route.nic.has_value());
  EXPECT_EQ(built.multicast.size(), 8U);
  EXPECT_EQ(built.reduce.size(), 8U);
}

TEST(Build, RanksOfTwoNodesMeetOnTheirRail) {
  const MachineSpec spec = shipped("h200x8x2.json");
  const Built built = build(spec, packed_places(spec, 16));
  const sim::Route& rail = built.machine.routes.at(built.unicast[0][8].value());
  EXPECT_TRUE(rail.nic.has_value());
  const bool spine =
      std::any_of(rail.shares.begin(), rail.shares.end(), [&](const sim::RouteShare& share) {
        return share.on == sim::RouteShare::On::fabric_switch &&
               built.machine.switches.at(share.index).name == "spine";
      });
  EXPECT_FALSE(spine) << "a rail joins GPUs of the same index";
  EXPECT_TRUE(built.multicast.empty()) << "no switch reaches ranks of two nodes";
}

TEST(Build, PlacesPackOrScatter) {
  const MachineSpec spec = shipped("h200x8x2.json");
  EXPECT_THAT(build(spec, packed_places(spec, 16)).node_of_rank,
              testing::ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(build(spec, scattered_places(spec, 16)).node_of_rank,
              testing::ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(Build, HostOfTheSameSocketIsNearest) {
  const MachineSpec spec = shipped("h200x8.json");
  const Built built = build(spec, packed_places(spec, 8));
  EXPECT_EQ(built.machine.memory(built.memories[0].host).name, "node0.host0");
  EXPECT_EQ(built.machine.memory(built.memories[7].host).name, "node0.host1");
}

// Multiples of eight SMs, dealt without regard for the edges of GPCs; the rest is nobody's.
TEST(Build, SharesOfADeviceAreEqualAndApart) {
  const std::vector<int> gpcs = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  for (const int shares : {2, 3, 4, 8}) {
    std::vector<int> sum(gpcs.size(), 0);
    for (int share = 0; share < shares; ++share) {
      const std::vector<int> part = sms_of_share(gpcs, share, shares);
      EXPECT_EQ(std::accumulate(part.begin(), part.end(), 0), 132 / shares / 8 * 8);
      std::transform(sum.begin(), sum.end(), part.begin(), sum.begin(), std::plus<>());
    }
    for (std::size_t gpc = 0; gpc < gpcs.size(); ++gpc) EXPECT_LE(sum[gpc], gpcs[gpc]);
  }
  EXPECT_THAT(sms_of_share(gpcs, 0, 2),
              testing::ElementsAre(0, 0, 16, 16, 16, 6, 0, 8, 2, 0, 0, 0));
  EXPECT_THAT(sms_of_share({3, 2}, 1, 2), testing::ElementsAre(1, 1));
}

// As products on the first part of 64, 32 and 16 SMs show: one cluster of eight and one of four fewer than its SMs are.
TEST(Build, APartHoldsOneClusterFewerThanItsSms) {
  const std::vector<int> gpcs = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};
  for (const int shares : {2, 4, 8}) {
    const std::vector<int> part = sms_of_share(gpcs, 0, shares);
    const auto clusters_of = [&](int size) {
      int clusters = 0;
      for (const int sms : part) clusters += sms / size;
      return clusters;
    };
    const int sms = 128 / shares;
    EXPECT_EQ(clusters_of(8), sms / 8 - 1) << shares;
    EXPECT_EQ(clusters_of(4), sms / 4 - 1) << shares;
    EXPECT_EQ(clusters_of(2), sms / 2) << shares;
  }
}

TEST(Build, OverridesSlowOnePartAndUnknownOnesAreNamed) {
  const MachineSpec spec = shipped("h200x8.json");
  const Built built = build(spec, packed_places(spec, 8),
                            {{"node0.gpu3", 800}, {"node0.gpu0->node0.nvswitch", 500}});
  EXPECT_EQ(built.machine.devices.at(3).speed_permille, 800);
  EXPECT_EQ(built.machine.devices.at(2).speed_permille, 1000);
  try {
    static_cast<void>(build(spec, packed_places(spec, 8), {{"gpu9", 800}, {"gpu10", 800}}));
    FAIL();
  } catch (const BuildError& error) {
    EXPECT_EQ(error.faults().size(), 2U);
    EXPECT_THAT(error.what(), testing::HasSubstr("\"gpu9\""));
  }
}

TEST(Build, RefusesPlacesThatDoNotExist) {
  const MachineSpec spec = shipped("h200x8.json");
  try {
    static_cast<void>(build(spec, packed_places(spec, 10)));
    FAIL();
  } catch (const BuildError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 8 is placed on device 0 of node 1"));
    EXPECT_EQ(error.faults().size(), 2U);
  }
}

TEST(Pattern, NamesRangesAndLists) {
  EXPECT_THAT(expand_pattern("gpu[0-2,5]", 1),
              testing::ElementsAre("gpu0", "gpu1", "gpu2", "gpu5"));
  EXPECT_THAT(expand_pattern("node[*].nic[0-1]", 2),
              testing::ElementsAre("node0.nic0", "node0.nic1", "node1.nic0", "node1.nic1"));
  EXPECT_THAT(expand_pattern("hub", 1), testing::ElementsAre("hub"));
  for (const char* bad : {"gpu[", "gpu[3-1]", "gpu[a]", "", "gpu[0-99999999]"}) {
    EXPECT_THROW(static_cast<void>(expand_pattern(bad, 1)), std::invalid_argument) << bad;
  }
}

TEST(Pattern, PairsMeshZipAndBlocks) {
  LinkSpec link;
  link.from = link.to = "a[0-2]";
  EXPECT_EQ(expand_pairs(link, 1).size(), 3U);
  link.to = "b[0-2]";
  EXPECT_EQ(expand_pairs(link, 1).size(), 9U);
  link.from = "a[0-3]";
  link.to = "b[0-1]";
  link.pairing = LinkSpec::Pairing::zip;
  EXPECT_EQ(expand_pairs(link, 1).at(1).second, "b1");
  link.pairing = LinkSpec::Pairing::blocks;
  EXPECT_EQ(expand_pairs(link, 1).at(1).second, "b0");
  link.to = "b[0-2]";
  EXPECT_THROW(static_cast<void>(expand_pairs(link, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace weft::topology
