// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/solver/fair_share.hpp"
#include "sim/units/check.hpp"
#include "sim/units/rates.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

ActivityId add_flow(FairShare& solver, std::vector<ResourceUse> uses, Demand demand = {}) {
  demand.uses = uses;
  return solver.add(demand);
}

Duration time_alone(const FairShare& solver, ActivityId flow, std::uint64_t bytes) {
  Progress progress(bytes, solver.scale(flow), TimePoint());
  progress.set_pace(solver.pace(flow), TimePoint());
  return progress.end().since_start();
}

// k flows on one link get B / k each, so S bytes take ceil(k S / B), to the picosecond.
TEST(FairShare, FlowsOnALinkGetEqualShares) {
  for (std::int64_t k = 1; k <= 17; ++k) {
    FairShare solver;
    const ResourceId link = solver.add_resource(450 * kGB);
    std::vector<ActivityId> flows;
    for (std::int64_t i = 0; i < k; ++i) flows.push_back(add_flow(solver, {{link}}));
    EXPECT_EQ(solver.solve().size(), static_cast<std::size_t>(k));
    for (const std::int64_t bytes : {1LL, 7LL, 4096LL, 1LL << 20, 900'000'000'007LL}) {
      const Duration exact = Bytes::from(bytes * k) / Bandwidth::from_bytes_per_second(450 * kGB);
      for (const ActivityId flow : flows) {
        EXPECT_EQ(time_alone(solver, flow, static_cast<std::uint64_t>(bytes)), exact)
            << k << " flows of " << bytes;
      }
    }
  }
}

TEST(FairShare, CopiesAreTheSameAsThatManyActivities) {
  FairShare folded;
  FairShare unfolded;
  const ResourceId a = folded.add_resource(100 * kGB);
  const ResourceId b = unfolded.add_resource(100 * kGB);
  Demand seven{.weight = 3, .multiplicity = 7};
  const ActivityId copies = add_flow(folded, {{a}}, seven);
  const ActivityId other = add_flow(folded, {{a}});
  std::vector<ActivityId> each;
  for (int i = 0; i < 7; ++i) each.push_back(add_flow(unfolded, {{b}}, {.weight = 3}));
  const ActivityId single = add_flow(unfolded, {{b}});
  folded.solve();
  unfolded.solve();
  for (const ActivityId flow : each)
    EXPECT_EQ(unfolded.exact_rate(flow), folded.exact_rate(copies));
  EXPECT_EQ(unfolded.exact_rate(single), folded.exact_rate(other));
  EXPECT_EQ(unfolded.pace(each[0]), folded.pace(copies));
}

TEST(FairShare, SharesFollowWeights) {
  FairShare solver;
  const ResourceId hbm = solver.add_resource(4800 * kGB);
  const ActivityId gemm = add_flow(solver, {{hbm}}, {.weight = 116});
  const ActivityId copy = add_flow(solver, {{hbm}}, {.weight = 4});
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.units_per_second(gemm), 4640e9);
  EXPECT_DOUBLE_EQ(solver.units_per_second(copy), 160e9);
}

// Tiles of 3 MB and of 5 MB that shall share a memory by bytes: rates in tiles are 5 to 3.
TEST(FairShare, TilesOfUnequalBytesShareByBytes) {
  FairShare solver;
  const ResourceId hbm = solver.add_resource(30 * kGB);
  const ActivityId small = add_flow(solver, {{hbm, 3'000'000}}, {.weight_per = 3'000'000});
  const ActivityId large = add_flow(solver, {{hbm, 5'000'000}}, {.weight_per = 5'000'000});
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.units_per_second(small), 5000);
  EXPECT_DOUBLE_EQ(solver.units_per_second(large), 3000);
}

// Weights without a common denominator that fits: fair all the same, and the link is full.
TEST(FairShare, AwkwardWeightsShareToManyDigits) {
  FairShare solver;
  const ResourceId link = solver.add_resource(100 * kGB);
  std::vector<ActivityId> tiles;
  const std::vector<std::uint64_t> sizes = {437'113, 311'021, 1'999'993, 754'031, 98'207, 3};
  for (const std::uint64_t bytes : sizes) {
    tiles.push_back(add_flow(solver, {{link, bytes}}, {.weight = 1000, .weight_per = bytes}));
  }
  const ActivityId copy = add_flow(solver, {{link}}, {.weight = 16'000});
  solver.solve();
  const double share = 100e9 / 22;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double rate = share / static_cast<double>(sizes[i]);
    EXPECT_NEAR(solver.units_per_second(tiles[i]), rate, rate * 1e-10) << sizes[i];
  }
  EXPECT_NEAR(solver.units_per_second(copy), 16 * share, 16 * share * 1e-10);
  EXPECT_NEAR(static_cast<double>(solver.exact_load(link)),
              static_cast<double>(UInt128{100 * kGB} << 64), static_cast<double>(UInt128{1} << 64));
}

// A stream of flops per byte i on a machine of F flop/s and B byte/s runs at min(F, i B).
TEST(FairShare, RooflineHasItsKnee) {
  constexpr std::uint64_t kFlops = 989'000'000'000'000;
  constexpr std::uint64_t kBytes = 3'350'000'000'000;
  for (const std::uint64_t intensity : {1U, 16U, 295U, 296U, 1000U}) {
    FairShare solver;
    const ResourceId memory = solver.add_resource(kBytes);
    const ActivityId kernel =
        add_flow(solver, {{memory, 1}}, {.denominator = intensity, .cap = ProgressRate{kFlops, 1}});
    solver.solve();
    const double roof =
        std::min(static_cast<double>(kFlops), static_cast<double>(intensity * kBytes));
    EXPECT_DOUBLE_EQ(solver.units_per_second(kernel), roof) << intensity;
    EXPECT_EQ(solver.limit(kernel).has_value(), intensity * kBytes < kFlops) << intensity;
  }
}

// One fat switch against k thin parallel ones, each with 1/k of the capacity and of the bytes.
TEST(FairShare, FatSwitchAndThinParallelOnesAgree) {
  for (const std::uint64_t k : {2U, 3U, 4U, 6U, 17U, 18U}) {
    const std::uint64_t fat_capacity = k * 50 * kGB;
    FairShare fat;
    FairShare thin;
    std::vector<ActivityId> fat_flows;
    std::vector<ActivityId> thin_flows;
    const ResourceId core = fat.add_resource(fat_capacity);
    std::vector<ResourceUse> planes;
    for (std::uint64_t p = 0; p < k; ++p) planes.push_back({thin.add_resource(fat_capacity / k)});
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const std::uint64_t port = i * 13 * kGB;
      fat_flows.push_back(add_flow(fat, {{core}, {fat.add_resource(port)}}, {.weight = i}));
      std::vector<ResourceUse> uses = planes;
      uses.push_back({thin.add_resource(port), k});
      thin_flows.push_back(add_flow(thin, uses, {.denominator = k, .weight = i}));
    }
    fat.solve();
    thin.solve();
    for (std::size_t i = 0; i < fat_flows.size(); ++i) {
      EXPECT_DOUBLE_EQ(fat.units_per_second(fat_flows[i]), thin.units_per_second(thin_flows[i]));
      EXPECT_EQ(time_alone(fat, fat_flows[i], 123'456'789),
                time_alone(thin, thin_flows[i], 123'456'789));
    }
  }
}

// Bertsekas and Gallager's picture: a long flow over two links, two short ones on the first.
TEST(FairShare, FlowsLeaveWhatOthersCannotUse) {
  FairShare solver;
  const ResourceId first = solver.add_resource(90);
  const ResourceId second = solver.add_resource(100);
  const ActivityId across = add_flow(solver, {{first}, {second}});
  add_flow(solver, {{first}});
  add_flow(solver, {{first}});
  const ActivityId rest = add_flow(solver, {{second}});
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.units_per_second(across), 30);
  EXPECT_EQ(solver.limit(across), first);
  EXPECT_DOUBLE_EQ(solver.units_per_second(rest), 70);
  EXPECT_EQ(solver.limit(rest), second);
}

TEST(FairShare, OnlyTouchedActivitiesAreReported) {
  FairShare solver;
  const ResourceId left = solver.add_resource(100);
  const ResourceId right = solver.add_resource(100);
  const ActivityId a = add_flow(solver, {{left}});
  const ActivityId b = add_flow(solver, {{right}});
  EXPECT_THAT(solver.solve(), testing::UnorderedElementsAre(a, b));
  EXPECT_TRUE(solver.solve().empty());
  const ActivityId c = add_flow(solver, {{right}});
  EXPECT_THAT(solver.solve(), testing::UnorderedElementsAre(b, c));
  solver.remove(c);
  EXPECT_THAT(solver.solve(), testing::ElementsAre(b));
  // A flow that fits beside the others changes none of them.
  const ActivityId slow = add_flow(solver, {{left}}, {.cap = ProgressRate{1, 3}});
  EXPECT_THAT(solver.solve(), testing::UnorderedElementsAre(a, slow));
  solver.set_multiplicity(a, 0);
  EXPECT_TRUE(solver.solve().empty());
  EXPECT_EQ(solver.pace(a), Pace());
}

TEST(FairShare, CapMayBeLoweredAndRestored) {
  FairShare solver;
  const ResourceId link = solver.add_resource(1000);
  const ActivityId slowed = add_flow(solver, {{link}}, {.cap = ProgressRate{600, 1}});
  const ActivityId other = add_flow(solver, {{link}});
  solver.solve();
  const UInt128 before = solver.exact_rate(other);
  solver.set_cap(slowed, ProgressRate{100, 1});
  EXPECT_THAT(solver.solve(), testing::UnorderedElementsAre(slowed, other));
  EXPECT_DOUBLE_EQ(solver.units_per_second(other), 900);
  EXPECT_EQ(solver.limit(slowed), std::nullopt);
  solver.set_cap(slowed, ProgressRate{600, 1});
  solver.solve();
  EXPECT_EQ(solver.exact_rate(other), before);
  EXPECT_THROW(solver.set_cap(ActivityId(9), std::nullopt), CheckFailure);
}

TEST(FairShare, ResourceNamedTwiceIsChargedTheSum) {
  FairShare solver;
  const ResourceId memory = solver.add_resource(100);
  const ActivityId local_copy = add_flow(solver, {{memory, 1}, {memory, 1}});
  solver.solve();
  EXPECT_DOUBLE_EQ(solver.units_per_second(local_copy), 50);
  solver.remove(local_copy);
  add_flow(solver, {{memory, 1}, {memory, 3}});
  solver.solve();
  EXPECT_EQ(solver.exact_load(memory), UInt128{100} << 64);
}

TEST(FairShare, RefusesWhatItCannotCount) {
  FairShare solver;
  const ResourceId link = solver.add_resource(100);
  EXPECT_THROW(solver.add_resource(0), CheckFailure);
  EXPECT_THROW(add_flow(solver, {}), CheckFailure);
  EXPECT_THROW(add_flow(solver, {{link}}, {.denominator = 0}), CheckFailure);
  EXPECT_THROW(add_flow(solver, {{link}}, {.weight = 0}), CheckFailure);
  EXPECT_THROW(add_flow(solver, {{link, std::uint64_t{1} << 48}}), CheckFailure);
  EXPECT_THROW(add_flow(solver, {{ResourceId(1)}}), CheckFailure);
}

}  // namespace
}  // namespace weft::sim
