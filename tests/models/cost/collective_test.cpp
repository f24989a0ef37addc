// SPDX-License-Identifier: Apache-2.0
// Closed forms and laws of the collective costs.
#include "models/cost/collective.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tests/models/cost/sample_profile.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::protocol;
using testing::sample_profile;

const CollectiveOp kRingOps[] = {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                 CollectiveOp::all_reduce};

/// One cost of a profile that has nothing but this entry.
CollectiveCost only(const ProtocolCosts& entry, std::int64_t ranks) {
  Profile profile = sample_profile();
  profile.collectives = {entry};
  const auto costs =
      library_collectives(profile, fabric_of(profile), CollectiveProblem::in_node(entry.op, ranks));
  EXPECT_EQ(costs.size(), 1u);
  return costs.at(0);
}

// Each of the 2(p-1) steps sends S/p over a link of B after a latency of a: 2(p-1)(a + S/(pB)). B is
// chosen so that the rate in message bytes, pB/(2(p-1)), is a whole number too.
TEST(RingAllReduce, TimeIsTwoNMinusOneSteps) {
  for (const std::int64_t p : {2, 4, 8, 16}) {
    const std::int64_t steps = 2 * (p - 1);
    const auto cost = only(
        protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 0_us, 2_us, 10_GBps * steps),
        p);
    const Bytes message = 10_MB * steps * p;
    EXPECT_EQ(cost.time(message), (2_us + 1_ms) * steps) << p;
    EXPECT_EQ(cost.time(0_B), 2_us * steps) << p;
  }
}

TEST(RingGatherAndScatter, TimeIsNMinusOneSteps) {
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter}) {
    const auto cost = only(protocol(op, CollectiveAlgorithm::ring, 5_us, 2_us, 70_GBps), 8);
    EXPECT_EQ(cost.time(560_MB), 5_us + (2_us + 1_ms) * 7);
  }
}

// busbw = algbw * 2(p-1)/p is the wire rate where latency is nothing.
TEST(RingAllReduce, BusBandwidthIsTheWireRateWithoutLatency) {
  for (const std::int64_t p : {2, 4, 8}) {
    const auto cost = only(
        protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 0_us, 0_us, 100_GBps), p);
    const Bandwidth algbw = 1_GB / cost.time(1_GB);
    EXPECT_NEAR(ratio(algbw, 100_GBps) * 2.0 * static_cast<double>(p - 1) / static_cast<double>(p),
                1.0, 1e-6);
  }
}

// The bytes that leave a port are those that the definition needs, for every algorithm without a switch.
TEST(Collectives, PortBytesAreWhatTheDefinitionNeeds) {
  for (const CollectiveOp op : every_collective_op) {
    const auto algorithm =
        op == CollectiveOp::all_to_all ? CollectiveAlgorithm::direct : CollectiveAlgorithm::ring;
    for (const std::int64_t p : {2, 4, 8}) {
      const auto library = only(protocol(op, algorithm, 1_us, 1_us, 100_GBps), p);
      const auto ours = direct_collective(sample_profile(), fabric_of(sample_profile()),
                                          CollectiveProblem::in_node(op, p), Transport::sm, 8);
      ASSERT_TRUE(ours);
      for (const CollectiveCost& cost : {library, *ours}) {
        EXPECT_EQ(cost.per_byte.egress * p,
                  wire_numerator(op, static_cast<int>(p)) * cost.denominator);
        EXPECT_EQ(cost.per_byte.ingress, cost.per_byte.egress);
      }
    }
  }
}

// A port serves p slices of the message to the switch and sends one sum: (p+1)/p, whatever p.
TEST(NvlsAllReduce, PortCarriesTheMessageAndOneSlice) {
  const auto cost =
      only(protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::nvls, 9_us, 1_us, 90_GBps), 8);
  EXPECT_EQ(cost.per_byte.egress, 9);
  EXPECT_EQ(cost.denominator, 8);
  EXPECT_EQ(cost.time(800_MB), 11_us + 10_ms);
  EXPECT_EQ(cost.transport, Transport::fabric_switch);
}

// What is copied into the switch's buffers and out of them is the whole message, whatever p: 9/8 + 7/8 of it here.
TEST(NvlsAllReduce, EveryRankCopiesTheWholeMessage) {
  auto entry = protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::nvls, 9_us, 1_us, 160_GBps);
  entry.local_steps = given(0.875);
  EXPECT_EQ(only(entry, 8).time(800_MB), 11_us + 10_ms);
}

// Pairs share the channels of their devices: the slack is of what all peers are sent together.
TEST(AllToAll, SlackIsOfTheWholeMessage) {
  auto entry =
      protocol(CollectiveOp::all_to_all, CollectiveAlgorithm::direct, 5_us, 1_us, 100_GBps);
  entry.slack = given(1_MB);
  for (const std::int64_t ranks : {2, 8}) EXPECT_EQ(only(entry, ranks).slack, 1_MB);
}

TEST(Collectives, SlackIsFreeAndThenEveryByteCounts) {
  auto entry = protocol(CollectiveOp::all_gather, CollectiveAlgorithm::ring, 5_us, 1_us, 100_GBps);
  entry.slack = given(1_MB);
  const auto cost = only(entry, 4);
  EXPECT_EQ(cost.slack, 4_MB);
  EXPECT_EQ(cost.time(4_MB), cost.floor);
  EXPECT_EQ(cost.time(0_B), cost.floor);
  EXPECT_GT(cost.time(4'000'001_B), cost.floor);
}

// A gang waits `fixed` and then moves its bytes at the cap: together the time alone, to a rounding.
TEST(Collectives, FixedPartAndCapMakeTheTime) {
  auto entry = protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 5_us, 3_us, 77_GBps);
  entry.slack = given(64_KiB);
  entry.local_steps = given(0.7);
  const auto cost = only(entry, 8);
  for (const Bytes message : {1_B, 512_KiB, 3_MiB, 1_GiB}) {
    EXPECT_EQ(cost.fixed(message) + message / cost.rate_cap, cost.time(message));
  }
}

TEST(Collectives, LeastTimeIsMonotoneInBytes) {
  Profile profile = sample_profile();
  for (const CollectiveOp op : kRingOps) {
    profile.collectives.push_back(protocol(op, CollectiveAlgorithm::ring, 4_us, 1_us, 11_GBps));
    profile.collectives.push_back(protocol(op, CollectiveAlgorithm::ring, 6_us, 1_us, 60_GBps));
    profile.collectives.push_back(protocol(op, CollectiveAlgorithm::ring, 20_us, 2_us, 90_GBps));
  }
  std::mt19937_64 random(7);
  for (const CollectiveOp op : kRingOps) {
    const auto problem = CollectiveProblem::in_node(op, 8);
    Bytes before;
    Duration last;
    while (before < 1_GiB) {
      const Duration now =
          choose_collective(profile, fabric_of(profile), problem, before).time(before);
      EXPECT_GE(now, last) << before.count();
      last = now;
      before = before +
               Bytes::from(1 + static_cast<std::int64_t>(random() % 4096) + before.count() / 50);
    }
  }
}

// A ring whose neighbours sit together crosses each of the two nodes once: its edge there carries
// 2(p-1)/p S over 8 NICs of 50 GB/s. Placed alternately every one of the 8 edges of a node does.
TEST(RingOverNodes, EveryEdgeThatLeavesANodeSharesItsNics) {
  Profile profile = sample_profile();
  profile.collectives = {
      protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 0_us, 0_us, 450_GBps)};
  Fabric fabric = fabric_of(profile);
  fabric.gpu_per_direction = profile.gpu.link_per_direction.value;
  fabric.nic_per_direction = 50_GBps;
  fabric.nics_per_node = 8;
  const auto flat = [&](std::int64_t crossings) {
    const auto costs = library_collectives(
        profile, fabric,
        {.op = CollectiveOp::all_reduce, .ranks = 16, .nodes = 2, .crossings = crossings});
    for (const auto& cost : costs) {
      if (cost.algorithm == CollectiveAlgorithm::ring) return cost;
    }
    return costs.at(0);
  };
  // 400 GB/s * 16/30, and an eighth of it.
  EXPECT_EQ(flat(2).rate_cap.bytes_per_second(), 400'000'000'000 * 16 / 30);
  EXPECT_EQ(flat(16).rate_cap.bytes_per_second(), 400'000'000'000 * 16 / 30 / 8);
  EXPECT_EQ(flat(2).per_byte.nic_egress * 16 * 16, 30 * 2 * flat(2).denominator);
}

// Over the rails goes 2(N-1)/N of an l-th of the message: with N = 2 and 8 NICs of 50 GB/s, 400 GB/s of
// message; inside the node 14/8 of the message at 450 GB/s allows 257.
TEST(Hierarchical, SlowestPhaseSetsTheRate) {
  Profile profile = sample_profile();
  profile.collectives = {
      protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 1_us, 2_us, 450_GBps)};
  profile.gpu.link_per_direction = given(450_GBps);
  profile.network = NetworkCosts{given(14_us), given(1.0)};
  Fabric fabric = fabric_of(profile);
  fabric.nic_per_direction = 50_GBps;
  fabric.nics_per_node = 8;
  for (const auto& cost : library_collectives(
           profile, fabric, {.op = CollectiveOp::all_reduce, .ranks = 16, .nodes = 2})) {
    if (cost.algorithm != CollectiveAlgorithm::hierarchical) continue;
    EXPECT_EQ(cost.rate_cap.bytes_per_second(), 450'000'000'000 * 8 / 14);
    EXPECT_EQ(cost.floor, 1_us + 2_us * 14 + 14_us * 2);
    EXPECT_EQ(cost.per_byte.nic_egress, 2);
    EXPECT_EQ(cost.denominator, 16);
    return;
  }
  FAIL() << "no hierarchical algorithm was offered";
}

TEST(CopyEngine, GathersButDoesNotReduce) {
  const Profile profile = sample_profile();
  const auto made = [&](CollectiveOp op) {
    return direct_collective(profile, fabric_of(profile), CollectiveProblem::in_node(op, 4),
                             Transport::copy_engine, 0);
  };
  EXPECT_FALSE(made(CollectiveOp::all_reduce));
  EXPECT_FALSE(made(CollectiveOp::reduce_scatter));
  ASSERT_TRUE(made(CollectiveOp::all_to_all));
  // Three starts of 4 us, one hop of 2 us, 3/4 of the message at 80 GB/s.
  EXPECT_EQ(made(CollectiveOp::all_gather)->ctas, 0);
  EXPECT_NEAR(ratio(made(CollectiveOp::all_gather)->time(320_MB), 14_us + 3_ms), 1.0, 1e-9);
}

TEST(SmTransport, RateIsCtasUpToTheLink) {
  const Profile profile = sample_profile();
  Fabric fabric = fabric_of(profile);
  const auto wire = [&](std::int64_t ctas) {
    const auto cost =
        direct_collective(profile, fabric, CollectiveProblem::in_node(CollectiveOp::all_to_all, 2),
                          Transport::sm, ctas);
    return cost->rate_cap.bytes_per_second() / 2;
  };
  EXPECT_EQ(wire(1), 10'000'000'000);
  EXPECT_EQ(wire(4), 40'000'000'000);
  EXPECT_EQ(wire(32), 95'000'000'000);
  fabric.gpu_per_direction = 50_GBps;
  EXPECT_EQ(wire(32), 50'000'000'000);
}

TEST(Collectives, RatesFollowTheLinkThatTheyRunOn) {
  Profile profile = sample_profile();
  profile.collectives = {
      protocol(CollectiveOp::all_gather, CollectiveAlgorithm::ring, 1_us, 1_us, 80_GBps)};
  Fabric half = fabric_of(profile);
  half.gpu_per_direction = 50_GBps;
  const auto problem = CollectiveProblem::in_node(CollectiveOp::all_gather, 4);
  const auto full = library_collectives(profile, fabric_of(profile), problem).at(0);
  const auto slow = library_collectives(profile, half, problem).at(0);
  EXPECT_EQ(full.rate_cap, slow.rate_cap * 2);
  EXPECT_EQ(full.floor, slow.floor);
}

TEST(Collectives, OnlyTwoByteElementsClaimTheFit) {
  Profile profile = sample_profile();
  auto entry = protocol(CollectiveOp::all_reduce, CollectiveAlgorithm::ring, 1_us, 1_us, 80_GBps);
  for (auto* source : {&entry.base.source, &entry.hop.source, &entry.rate.source}) {
    source->kind = SourceKind::fitted;
  }
  profile.collectives = {entry};
  auto problem = CollectiveProblem::in_node(CollectiveOp::all_reduce, 8);
  EXPECT_EQ(choose_collective(profile, fabric_of(profile), problem, 1_MB).source,
            SourceKind::fitted);
  problem.dtype = DType::fp8_e4m3;
  EXPECT_EQ(choose_collective(profile, fabric_of(profile), problem, 1_MB).source,
            SourceKind::assumed);
}

TEST(Collectives, OneRankCostsNothing) {
  const Profile profile = sample_profile();
  const auto problem = CollectiveProblem::in_node(CollectiveOp::all_reduce, 1);
  EXPECT_EQ(choose_collective(profile, fabric_of(profile), problem, 1_GB).time(0_B), 0_us);
  EXPECT_TRUE(library_collectives(profile, fabric_of(profile), problem).empty());
}

TEST(Collectives, WhatCannotBeIsSaid) {
  const Profile profile = sample_profile();
  const Fabric fabric = fabric_of(profile);
  EXPECT_THROW((void)choose_collective(
                   profile, fabric, CollectiveProblem::in_node(CollectiveOp::all_reduce, 8), 1_MB),
               MissingConstant);
  EXPECT_THROW((void)library_collectives(profile, fabric, {.ranks = 9, .nodes = 2}),
               std::domain_error);
  EXPECT_THROW((void)library_collectives(profile, fabric, {.ranks = 8, .nodes = 2}),
               std::domain_error);
}

}  // namespace
}  // namespace weft::model
