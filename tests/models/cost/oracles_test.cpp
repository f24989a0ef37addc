// SPDX-License-Identifier: Apache-2.0
// Published predictors, reproduced: each figure below is worked out from the source's own formula.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cost/collective.hpp"
#include "models/cost/cost_model.hpp"
#include "models/cost/deepep_sms.hpp"
#include "models/cost/flashoverlap_predictor.hpp"
#include "models/cost/nccl_choice.hpp"
#include "models/cost/nccl_symmetric.hpp"
#include "models/cost/nccl_tuner.hpp"
#include "models/profile/json.hpp"

namespace weft::model {
namespace {

using ::testing::DoubleNear;

// ---- FlashOverlap ------------------------------------------------------------------------------------------

// M = N = 4096, tiles of 128 x 128: 1024 on 128 SMs, 126 of them left; a flat curve of 100.
FlashOverlapProblem overlap_problem(CollectiveOp op) {
  FlashOverlapProblem problem;
  problem.m = problem.n = 4096;
  problem.tiles = 1024;
  problem.sms = 128;
  problem.ranks = 4;
  problem.op = op;
  problem.gemm = 0.008;
  problem.bandwidth = {{1e3, 100.0}, {1e9, 100.0}};
  return problem;
}

// 2^24 elements * 2 * 2 * 3 / 100 / 2^30 = 0.001875; a reduce-scatter moves half of it.
TEST(FlashOverlap, TransferIsElementsOverBandwidth) {
  EXPECT_DOUBLE_EQ(flashoverlap_transfer(overlap_problem(CollectiveOp::all_reduce), 1 << 24),
                   0.001875);
  EXPECT_DOUBLE_EQ(flashoverlap_transfer(overlap_problem(CollectiveOp::reduce_scatter), 1 << 24),
                   0.0009375);
}

TEST(FlashOverlap, BandwidthIsInterpolatedAndHeldAtBothEnds) {
  FlashOverlapProblem problem = overlap_problem(CollectiveOp::reduce_scatter);
  problem.bandwidth = {{100.0, 10.0}, {300.0, 30.0}};
  const auto rate = [&](double elements) {
    return elements * 2 * 3 / (1024. * 1024 * 1024) / flashoverlap_transfer(problem, elements);
  };
  EXPECT_DOUBLE_EQ(rate(50), 10);
  EXPECT_DOUBLE_EQ(rate(200), 20);
  EXPECT_DOUBLE_EQ(rate(900), 30);
}

TEST(FlashOverlap, ASingleGroupTakesTheUnscaledProduct) {
  EXPECT_DOUBLE_EQ(flashoverlap_predict(overlap_problem(CollectiveOp::all_reduce), {1024}),
                   0.008 + 0.001875);
}

// 8 waves on 128 SMs, 9 on 126: gemm' = 0.009, 0.001 a wave. Groups of 504 (4 waves) and 520 (5 waves):
// computed 0.004, sent 0.004 + 504/1024 * 0.001875, computed 0.009, then 520/1024 * 0.001875.
TEST(FlashOverlap, TwoGroupsOverlapTheFirstTransfer) {
  const double second = 16384.0 * 520 * 12 / 100 / (1024. * 1024 * 1024);
  EXPECT_NEAR(flashoverlap_predict(overlap_problem(CollectiveOp::all_reduce), {504, 520}),
              0.009 + second, 1e-15);
}

// 9 waves make 2^8 compositions; those of more than five groups whose first is longer than two are left out:
// a first part of f > 2 waves leaves C(8-f, g-2) of g parts, g from 6 on: f=3: C(5,4)+C(5,5) = 6, f=4: C(4,4) = 1.
TEST(FlashOverlap, GroupingsAreCompositionsWithoutColdStarts) {
  const auto groupings = flashoverlap_groupings(overlap_problem(CollectiveOp::all_reduce));
  EXPECT_EQ(groupings.size(), 256U - 7U);
  for (const auto& groups : groupings) {
    std::int64_t sum = 0;
    for (const std::int64_t tiles : groups) sum += tiles;
    EXPECT_EQ(sum, 1024);
  }
}

// ---- NCCL's symmetric kernels ------------------------------------------------------------------------------

// By hand: an all-gather of 64 MiB shards over 8 Hopper ranks at 64 CTAs: bus bytes 7 * 2^26, peak 320 GB of 2^30,
// and 44 a CTA, far beyond the soft minimum's knee: t = 7.8 + bytes / bandwidth - 1.
TEST(NcclSymmetric, LargeMessagesTakeTheirBytesOverTheSoftMinimum) {
  const double gb = (1 << 30) / 1e6, cta = 44 * gb, peak = 320 * gb;
  const auto estimate = nccl_symmetric_estimate(NcclGeneration::hopper,
                                                NcclSymmetricKernel::all_gather_peers, 8, 1 << 26);
  const double x = estimate.ctas * cta;
  const double bandwidth = peak - cta * std::log1p((std::exp(peak / cta) - 1) * std::exp(-x / cta));
  EXPECT_THAT(estimate.time_us, DoubleNear(7.8 + 7.0 * (1 << 26) / bandwidth - 1, 1e-6));
}

// An empty message costs the base latency and softplus(-1) = log(1 + 1/e).
TEST(NcclSymmetric, EmptyMessagesCostTheBaseLatency) {
  const auto ll =
      nccl_symmetric_estimate(NcclGeneration::hopper, NcclSymmetricKernel::all_reduce_ll, 8, 0);
  EXPECT_DOUBLE_EQ(ll.time_us, 4.5 + std::log1p(std::exp(-1.0)));
  EXPECT_EQ(ll.ctas, 1);
  const auto blackwell = nccl_symmetric_estimate(NcclGeneration::blackwell,
                                                 NcclSymmetricKernel::all_reduce_switch, 8, 0);
  EXPECT_DOUBLE_EQ(blackwell.time_us, 19.5 + std::log1p(std::exp(-1.0)));
}

TEST(NcclSymmetric, TheSwitchTakesAtMostSixteenCtasOverTheRanks) {
  for (const int ranks : {2, 4, 8}) {
    const auto estimate = nccl_symmetric_estimate(
        NcclGeneration::hopper, NcclSymmetricKernel::all_reduce_switch, ranks, 1 << 28);
    EXPECT_LE(estimate.ctas, (16 + ranks - 1) / ranks);
  }
}

TEST(NcclSymmetric, SmallMessagesPickFlagsInTheDataAndLargeOnesTheSwitch) {
  const auto small =
      nccl_symmetric_pick(NcclGeneration::hopper, CollectiveOp::all_reduce, 8, 1024, true);
  const auto large =
      nccl_symmetric_pick(NcclGeneration::hopper, CollectiveOp::all_reduce, 8, 1 << 28, true);
  EXPECT_EQ(name_of(small->kernel), "AllReduce_AGxLLMC_R");
  EXPECT_EQ(name_of(large->kernel), "AllReduce_RSxLDMC_AGxSTMC");
  EXPECT_FALSE(
      nccl_symmetric_pick(NcclGeneration::hopper, CollectiveOp::all_to_all, 8, 1024, true));
}

// ---- NVLS ----------------------------------------------------------------------------------------------------

// A port passes (p+1)/p of an NVLS all-reduce's message, and bus bandwidth counts 2 (p-1)/p of it: 2 (p-1)/(p+1) of
// the port's rate. The shipped profile's one rate is fitted at 8 GPUs (480 GB/s), and 4 to 7 follow
// (github.com/NVIDIA/nccl/issues/1455, H100).
TEST(NvlsAllReduce, BusBandwidthByGpuCountFollowsFromThePort) {
  constexpr std::pair<int, double> published[] = {{4, 370}, {5, 420}, {6, 440}, {7, 460}, {8, 480}};
  const Profile profile = load_profile("configs/profiles/h100-sxm.json");
  const Fabric fabric = fabric_of(profile);
  const Bytes message = Bytes::from(std::int64_t{2} << 30);
  const auto by_switch = [&](int ranks) {
    std::vector<CollectiveCost> costs = library_collectives(
        profile, fabric, CollectiveProblem::in_node(CollectiveOp::all_reduce, ranks));
    std::erase_if(costs, [](const CollectiveCost& each) {
      return each.algorithm != CollectiveAlgorithm::nvls;
    });
    return *std::min_element(costs.begin(), costs.end(), [&](const auto& a, const auto& b) {
      return a.time(message) < b.time(message);
    });
  };
  const CollectiveCost all = by_switch(8);
  const double port = static_cast<double>(all.rate_cap.bytes_per_second()) * 9 / 8;
  for (const auto& [ranks, figure] : published) {
    const CollectiveCost cost = by_switch(ranks);
    EXPECT_NEAR(static_cast<double>(cost.rate_cap.bytes_per_second()), port * ranks / (ranks + 1),
                1e3)
        << ranks << " GPUs";
    const double seconds = static_cast<double>(cost.time(message).ps()) / 1e12;
    const double bus =
        static_cast<double>(message.count()) / seconds / 1e9 * 2 * (ranks - 1) / ranks;
    EXPECT_NEAR(bus / figure, 1, ranks == 8 ? 0.001 : 0.05) << ranks << " GPUs";
  }
}

// ---- DeepEP ------------------------------------------------------------------------------------------------

// Top 1 goes to exactly one group.
TEST(DeepEp, ExpectedGroupsAreOneForTopOne) {
  EXPECT_DOUBLE_EQ(deepep_expected_groups(8, 256, 1), 1);
}

// C(224,8)/C(256,8) by hand for 8 groups of 32 experts.
TEST(DeepEp, ExpectedGroupsAreThoseThatAreNotMissed) {
  double missed = 1;
  for (int i = 0; i < 8; ++i) missed *= (224.0 - i) / (256.0 - i);
  EXPECT_DOUBLE_EQ(deepep_expected_groups(8, 256, 8), 8 * (1 - missed));
}

// Direct, 8 ranks of one NVLink domain: writes 1, traffic 7/8: 160 / 0.875 / 50 = 3.66 SMs, with a quarter more 4.57:
// five, made even: 6.
TEST(DeepEp, SmCountOfOneDomain) {
  DeepEpProblem problem;
  problem.nvlink_gbps = 160;
  EXPECT_EQ(deepep_sm_count(problem), 6);
  problem.beside_compute = false;
  EXPECT_EQ(deepep_sm_count(problem), 64);
}

// ---- as models of costs --------------------------------------------------------------------------------------

double us_of(const CollectiveCost& cost, std::int64_t bytes) {
  return static_cast<double>(cost.time(Bytes::from(bytes)).ps()) / 1e6;
}

// The profile's rings have 24 channels; NCCL counts 20.6 of the 25 GB/s of each of 18 links.
TEST(CostModel, TheTunerPricesRingsAndSwitchesInItsOwnNumbers) {
  const Profile profile = load_profile("configs/profiles/h100-sxm.json");
  const Fabric fabric = fabric_of(profile);
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::all_reduce}) {
    const auto problem = CollectiveProblem::in_node(op, 8);
    for (const std::int64_t bytes : {std::int64_t{1} << 16, std::int64_t{1} << 28}) {
      const auto ways =
          modelled_collectives(CostModel::nccl_tuner, profile, fabric, problem, Bytes::from(bytes));
      EXPECT_EQ(ways.size(), op == CollectiveOp::all_reduce ? 4U : 3U);
      for (const CollectiveCost& way : ways) {
        const bool ring = way.algorithm == CollectiveAlgorithm::ring;
        NcclTunerProblem asked;
        asked.channels = static_cast<int>(way.ctas);
        asked.channel_gbps = 450 * 20.6 / 25 / asked.channels;
        const auto us = nccl_tuner_time_us(
            asked, op, ring ? NcclAlgorithm::ring : NcclAlgorithm::nvls, way.protocol, bytes);
        ASSERT_TRUE(us);
        EXPECT_NEAR(us_of(way, bytes), *us, 1e-5 * *us);
      }
    }
  }
}

// Flags in the data up to 2.1 MB of two GPUs and 3.1 MB of four, by the tuner's own figures, whatever is quicker.
TEST(NcclChoice, ARingGoesByTheProtocolOfTheLeastEstimate) {
  const Profile profile = load_profile("configs/profiles/h100-sxm.json");
  const Fabric fabric = fabric_of(profile);
  const auto taken = [&](std::int64_t ranks, std::int64_t bytes) {
    const auto problem = CollectiveProblem::in_node(CollectiveOp::reduce_scatter, ranks);
    return choose_collective(profile, fabric, problem, Bytes::from(bytes)).protocol;
  };
  EXPECT_EQ(taken(2, 2'000'000), CollectiveProtocol::ll);
  EXPECT_NE(taken(2, 2'200'000), CollectiveProtocol::ll);
  EXPECT_EQ(taken(4, 3'000'000), CollectiveProtocol::ll);
  EXPECT_NE(taken(4, 3'200'000), CollectiveProtocol::ll);
  EXPECT_EQ(taken(8, 8'000'000), CollectiveProtocol::ll128);
}

// The estimate is of NVLink inside a node: elsewhere, and of ways that are no rings, the least time decides.
TEST(NcclChoice, TheLeastTimeDecidesWhereTheEstimateDoesNot) {
  const Profile profile = load_profile("configs/profiles/l40s.json");
  const Fabric fabric = fabric_of(profile);
  const Bytes message = Bytes::from(std::int64_t{1} << 20);
  for (const CollectiveOp op : every_collective_op) {
    const auto problem = CollectiveProblem::in_node(op, 4);
    const auto ways = library_collectives(profile, fabric, problem);
    const Duration time = taken_by_library(profile, fabric, problem, ways, message).time(message);
    for (const CollectiveCost& way : ways) EXPECT_LE(time, way.time(message));
  }
}

TEST(CostModel, WhatAModelDoesNotKnowStaysAsTheProfileHasIt) {
  const Profile profile = load_profile("configs/profiles/h100-sxm.json");
  const Fabric fabric = fabric_of(profile);
  const auto problem = CollectiveProblem::in_node(CollectiveOp::all_to_all, 8);
  const auto own = library_collectives(profile, fabric, problem);
  for (const CostModel model : every_cost_model) {
    const auto ways = modelled_collectives(model, profile, fabric, problem, Bytes::from(1 << 20));
    ASSERT_EQ(ways.size(), own.size()) << name_of(model);
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(us_of(ways[i], 1 << 20), us_of(own[i], 1 << 20)) << name_of(model);
  }
}

// Its peak of 320 GB/s is below the port of an H100, so that the model's own time stands; an H800's port is not.
TEST(CostModel, SymmetricKernelsCostWhatTheirModelSaysWithinThePort) {
  const Profile profile = load_profile("configs/profiles/h100-sxm.json");
  const auto problem = CollectiveProblem::in_node(CollectiveOp::all_gather, 8);
  const std::int64_t bytes = 32 << 20;
  Fabric fabric = fabric_of(profile);
  const auto pick = nccl_symmetric_pick(NcclGeneration::hopper, CollectiveOp::all_gather, 8,
                                        bytes / 8, fabric.switch_reduces);
  const auto cost = symmetric_collective(profile, fabric, problem, Bytes::from(bytes));
  ASSERT_TRUE(pick && cost);
  EXPECT_NEAR(us_of(*cost, bytes), pick->time_us, 1e-3 * pick->time_us);
  fabric.gpu_per_direction = Bandwidth::from_bytes_per_second(200'000'000'000);
  EXPECT_GT(us_of(*symmetric_collective(profile, fabric, problem, Bytes::from(bytes)), bytes),
            pick->time_us);
  fabric.gpu_per_direction = Bandwidth::from_bytes_per_second(32'000'000'000);  // PCI Express
  EXPECT_FALSE(symmetric_collective(profile, fabric, problem, Bytes::from(bytes)));
}

}  // namespace
}  // namespace weft::model
