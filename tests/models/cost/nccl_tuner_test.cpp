// SPDX-License-Identifier: Apache-2.0
// NCCL's tuner: each time below is worked out by hand from the constants of its source.
#include "models/cost/nccl_tuner.hpp"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::model {
namespace {

// Hopper, one node of 8, 16 channels of 20 GB/s: a ring all-reduce under Simple takes 8.4 + 14 * 3.4 us and moves
// 320 GB/s * 8 / 14.
TEST(NcclTuner, RingAllReduceIsBaseHopsAndBytes) {
  NcclTunerProblem problem;
  problem.channels = 16;
  problem.channel_gbps = 20;
  const auto ring = nccl_tuner_time_us(problem, CollectiveOp::all_reduce, NcclAlgorithm::ring,
                                       CollectiveProtocol::simple, 1 << 28);
  ASSERT_TRUE(ring);
  EXPECT_NEAR(*ring, 8.4 + 14 * 3.4 + (1 << 28) / (1000 * 320.0 * 8 / 14), 1e-6);
}

// LL carries half, and no more than 141 GB/s in one node of Hopper.
TEST(NcclTuner, LowLatencyIsHeldToItsCeiling) {
  NcclTunerProblem problem;
  problem.channels = 16;
  problem.channel_gbps = 20;
  const auto ll = nccl_tuner_time_us(problem, CollectiveOp::all_gather, NcclAlgorithm::ring,
                                     CollectiveProtocol::ll, 1 << 20);
  EXPECT_NEAR(*ll, 6.6 + 7 * 0.6 + (1 << 20) / (1000 * 141.0 * 8 / 7), 1e-6);
}

// Both halves of an all-reduce run at once (2), and 8 ranks take 14 steps of bus bandwidth.
TEST(NcclTuner, NvlsPipelinesBothHalvesAtItsEfficiency) {
  NcclTunerProblem problem;
  problem.channels = 16;
  problem.channel_gbps = 20;
  const auto nvls = nccl_tuner_time_us(problem, CollectiveOp::all_reduce, NcclAlgorithm::nvls,
                                       CollectiveProtocol::simple, 1 << 28);
  EXPECT_NEAR(*nvls, 25 + (1 << 28) / (1000 * 320 * 0.85 * 15 / 16 * 2 * 8 / 14), 1e-6);
}

// A tree's protocols take their share of what a tree reaches (0.92 of the bus, 38.7 GB/s a channel), half of it each way;
// 64 B times 2^22 is where the correction of medium sizes ends.
TEST(NcclTuner, TreeProtocolsShareWhatATreeReaches) {
  NcclTunerProblem problem;
  problem.channels = 16;
  problem.channel_gbps = 20;
  const auto ll = nccl_tuner_time_us(problem, CollectiveOp::all_reduce, NcclAlgorithm::tree,
                                     CollectiveProtocol::ll, 1 << 28);
  EXPECT_NEAR(*ll, 6.8 + 14 * 0.6 + (1 << 28) / (1000 * (320 * 0.92 / 3.8) * 0.5), 1e-6);
}

TEST(NcclTuner, TreesReduceOnlyAndOnlyAllReduces) {
  const NcclTunerProblem problem;
  EXPECT_FALSE(nccl_tuner_time_us(problem, CollectiveOp::all_gather, NcclAlgorithm::tree,
                                  CollectiveProtocol::simple, 1 << 20));
}

// Between nodes, by hand: 4 nodes of 8 Hopper GPUs, 16 channels of 20 GB/s.
NcclTunerProblem between_nodes() {
  NcclTunerProblem problem;
  problem.ranks = 32;
  problem.nodes = 4;
  problem.channels = 16;
  problem.channel_gbps = 20;
  return problem;
}

double tuned(const NcclTunerProblem& problem, CollectiveOp op, NcclAlgorithm algorithm,
             CollectiveProtocol protocol, std::int64_t bytes) {
  return nccl_tuner_time_us(problem, op, algorithm, protocol, bytes).value_or(-1);
}

// The proxy posts once a hop, three times under Simple: 1 us a post with Intel's hosts, 2 with AMD's. 31 steps of an
// all-gather, 3 of them between nodes: LL 28 * max(0.6, 1) + 3 * 2.7, Simple 28 * max(3.4, 3) + 3 * 14.
TEST(NcclTuner, InnerHopsAreNoShorterThanTheProxysOverhead) {
  NcclTunerProblem problem = between_nodes();
  const auto latency = [&](CollectiveProtocol protocol) {
    return tuned(problem, CollectiveOp::all_gather, NcclAlgorithm::ring, protocol, 0);
  };
  EXPECT_NEAR(latency(CollectiveProtocol::ll), 6.6 + 28 * 1.0 + 3 * 2.7, 1e-9);
  EXPECT_NEAR(latency(CollectiveProtocol::simple), 8.4 + 28 * 3.4 + 3 * 14, 1e-9);
  problem.net_overhead_us = 2;
  EXPECT_NEAR(latency(CollectiveProtocol::ll128), 14 + 28 * 2.0 + 3 * 4.0, 1e-9);
  EXPECT_NEAR(latency(CollectiveProtocol::simple), 8.4 + 28 * 6.0 + 3 * 14, 1e-9);
  problem.net_latency_us = 1.5;  // and a flush under Simple
  EXPECT_NEAR(latency(CollectiveProtocol::ll128), 14 + 28 * 2.0 + 3 * 5.5, 1e-9);
  EXPECT_NEAR(latency(CollectiveProtocol::simple), 8.4 + 28 * 6.0 + 3 * 17, 1e-9);
}

// 62 steps of an all-reduce, 6 of them between nodes; from 64 bytes a channel and rank on it takes 1.4 times as long.
TEST(NcclTuner, LargeRingsReachAPlateau) {
  const double latency = 8.4 + 56 * 3.4 + 6 * 14;
  const auto ring = [](std::int64_t bytes) {
    return tuned(between_nodes(), CollectiveOp::all_reduce, NcclAlgorithm::ring,
                 CollectiveProtocol::simple, bytes);
  };
  const auto moved = [](double bytes) { return bytes / (1000 * 320.0 * 32 / 62); };
  EXPECT_NEAR(ring(64 * 16 * 32 - 1), latency + moved(64 * 16 * 32 - 1), 1e-9);
  EXPECT_NEAR(ring(64 * 16 * 32), 1.4 * latency + moved(64 * 16 * 32), 1e-9);
}

// 16 nodes of one GPU: 8 + 4 * 14 / 3.5 + 16 * 2.8, and three quarters of 320 GB/s. Not where a node has more, not for
// an all-reduce.
TEST(NcclTuner, PatGrowsWithTheLogarithmOfNodesAndTheirNumber) {
  NcclTunerProblem problem = between_nodes();
  const auto pat = [&](CollectiveOp op) {
    return tuned(problem, op, NcclAlgorithm::pat, CollectiveProtocol::simple, 1 << 20);
  };
  EXPECT_EQ(pat(CollectiveOp::all_gather), -1);
  problem.ranks = problem.nodes = 16;
  EXPECT_NEAR(pat(CollectiveOp::all_gather), 8 + 4 * 4.0 + 44.8 + (1 << 20) / (1000 * 240.0), 1e-9);
  EXPECT_EQ(pat(CollectiveOp::reduce_scatter), pat(CollectiveOp::all_gather));
  EXPECT_EQ(pat(CollectiveOp::all_reduce), -1);
}

// 8 ranks a node on 16 channels: factor 0.5 + 0.25, so that 320 / 0.75 * 0.85 / 2; 2 (3.7 + 7 * 0.4) + 31. A half moves
// 8 shares of 0.9 * 20 GB/s, where a node has a summing NIC for each rank. The chain: 2 * 7 * 2.8 + 30, 160 GB/s.
TEST(NcclTuner, CollNetSumsInTheNetwork) {
  NcclTunerProblem problem = between_nodes();
  const auto by = [&](CollectiveOp op, NcclAlgorithm algorithm) {
    return tuned(problem, op, algorithm, CollectiveProtocol::simple, 1 << 28);
  };
  EXPECT_EQ(by(CollectiveOp::all_reduce, NcclAlgorithm::collnet_direct), -1);  // not enabled
  EXPECT_EQ(by(CollectiveOp::all_reduce, NcclAlgorithm::nvls), -1);            // nor NVLS beyond
  problem.collnet_heads = 8;
  EXPECT_NEAR(by(CollectiveOp::all_reduce, NcclAlgorithm::collnet_direct),
              2 * (3.7 + 7 * 0.4) + 31 + (1 << 28) / (1000 * 320 / 0.75 * 0.85 * 0.5), 1e-6);
  EXPECT_NEAR(by(CollectiveOp::all_gather, NcclAlgorithm::collnet_direct),
              2 * (3.7 + 7 * 0.4) + 31 + (1 << 28) / (1000 * 8 * 18.0), 1e-6);
  EXPECT_NEAR(by(CollectiveOp::all_reduce, NcclAlgorithm::collnet_chain),
              2 * 7 * 2.8 + 30 + (1 << 28) / (1000 * 160.0), 1e-6);
  EXPECT_EQ(by(CollectiveOp::all_gather, NcclAlgorithm::collnet_chain), -1);
  problem.collnet_heads = 4;
  EXPECT_EQ(by(CollectiveOp::reduce_scatter, NcclAlgorithm::collnet_direct), -1);
  EXPECT_EQ(by(CollectiveOp::reduce_scatter, NcclAlgorithm::nvls), -1);
  problem.ranks = 36;  // more than eight GPUs of a node
  EXPECT_EQ(by(CollectiveOp::all_reduce, NcclAlgorithm::collnet_direct), -1);
  EXPECT_EQ(by(CollectiveOp::all_reduce, NcclAlgorithm::collnet_chain), -1);
}

// A channel takes 20 * 0.85 * 15/16 * 2 = 31.875 GB/s through the switch and what the network gives it: 20, or 40.
TEST(NcclTuner, NvlsBeyondANodeIsHeldToTheNetwork) {
  NcclTunerProblem problem = between_nodes();
  problem.collnet_heads = 8;
  const auto nvls = [&](CollectiveOp op) {
    return tuned(problem, op, NcclAlgorithm::nvls, CollectiveProtocol::simple, 1 << 28);
  };
  const auto expected = [](double algorithm_gbps) {
    return 25 + 18 + (1 << 28) / (1000 * algorithm_gbps);
  };
  EXPECT_NEAR(nvls(CollectiveOp::all_reduce), expected(16 * 20.0 * 32 / 62), 1e-6);
  problem.net_channel_gbps = 40;
  EXPECT_NEAR(nvls(CollectiveOp::all_reduce), expected(16 * 31.875 * 32 / 62), 1e-6);
  EXPECT_NEAR(nvls(CollectiveOp::all_gather), expected(16 * 31.875 / 2 * 7 / 8), 1e-6);
}

// Inside as NVLS, between nodes a tree of 20.9 us a hop, no more than 57.7 GB/s a channel on two nodes and 45.5 on more;
// two nodes take the network twice.
TEST(NcclTuner, NvlsTreeIsATreeOfSwitches) {
  NcclTunerProblem problem = between_nodes();
  const auto tree = [&](std::int64_t bytes) {
    return tuned(problem, CollectiveOp::all_reduce, NcclAlgorithm::nvls_tree,
                 CollectiveProtocol::simple, bytes);
  };
  EXPECT_NEAR(tree(1 << 28), 25 + 4 * 20.9 + (1 << 28) / (1000 * 16 * 20.0 * 32 / 62), 1e-6);
  problem.net_channel_gbps = 50;
  EXPECT_NEAR(tree(1 << 28), 25 + 4 * 20.9 + (1 << 28) / (1000 * 16 * 31.875 * 32 / 62), 1e-6);
  problem.channel_gbps = 40;
  EXPECT_NEAR(tree(1 << 28), 25 + 4 * 20.9 + (1 << 28) / (1000 * 16 * 45.5 * 32 / 62), 1e-6);
  problem.nodes = 2;
  problem.ranks = 16;
  problem.net_channel_gbps = 12.5;
  EXPECT_NEAR(tree(1 << 28), 25 + 2 * 20.9 + (1 << 28) / (1000 * 16 * 25.0 * 16 / 30), 1e-6);
  problem.nodes = problem.ranks = 2;  // one GPU a node: a tree's hop
  EXPECT_NEAR(tree(0), 25 + 2 * 14, 1e-9);
  problem.nodes = 1;
  EXPECT_EQ(tree(1 << 28), -1);
}

// 1 MiB is 2^14 times 64 bytes: half of it on Blackwell behind x86 hosts, 40 * 0.74 * 15/16 * 2 = 55.5 GB/s a channel.
TEST(NcclTuner, NvlsTreesOfBlackwellAreCorrectedBehindX86) {
  NcclTunerProblem problem = between_nodes();
  problem.architecture = 100;
  problem.channel_gbps = 40;
  problem.net_channel_gbps = 50;
  const auto moved = [&] {
    return tuned(problem, CollectiveOp::all_reduce, NcclAlgorithm::nvls_tree,
                 CollectiveProtocol::simple, 1 << 20) -
           (25 + 4 * 20.9);
  };
  EXPECT_NEAR(moved(), (1 << 20) / (1000 * 16 * 50.0 * 32 / 62 * 0.5), 1e-6);
  problem.hosts = NcclHosts::other;
  EXPECT_NEAR(moved(), (1 << 20) / (1000 * 16 * 50.0 * 32 / 62), 1e-6);
}

// Between nodes LL is held to the hosts: 39 GB/s on two nodes of Intel's, 22.5 of AMD's, 20.4 and 19 on three.
TEST(NcclTuner, LowLatencyBetweenNodesIsHeldToTheHosts) {
  NcclTunerProblem problem = between_nodes();
  const auto ceiling = [&](int nodes, NcclHosts hosts) {
    problem.nodes = nodes;
    problem.ranks = 8 * nodes;
    problem.hosts = hosts;
    const auto ring = [&](std::int64_t bytes) {
      return tuned(problem, CollectiveOp::all_gather, NcclAlgorithm::ring, CollectiveProtocol::ll,
                   bytes);
    };
    return (1 << 28) / (1000 * (ring(1 << 28) - ring(0))) * (problem.ranks - 1) / problem.ranks;
  };
  EXPECT_NEAR(ceiling(2, NcclHosts::intel), 39, 1e-6);
  EXPECT_NEAR(ceiling(2, NcclHosts::amd), 22.5, 1e-6);
  EXPECT_NEAR(ceiling(3, NcclHosts::intel), 20.4, 1e-6);
  EXPECT_NEAR(ceiling(3, NcclHosts::amd), 19, 1e-6);
}

// Rings, trees and PAT run at the inner rate on two nodes and at the network's on more.
TEST(NcclTuner, MoreThanTwoNodesRunAtTheNetworksRate) {
  NcclTunerProblem problem = between_nodes();
  problem.net_channel_gbps = 10;
  const auto rate = [&](NcclAlgorithm algorithm, std::int64_t bytes) {
    const auto time = [&](std::int64_t size) {
      return tuned(problem, CollectiveOp::all_reduce, algorithm, CollectiveProtocol::simple, size);
    };
    return static_cast<double>(bytes) / (1000 * (time(2 * bytes) - time(bytes)));
  };
  EXPECT_NEAR(rate(NcclAlgorithm::ring, 1 << 28), 16 * 10.0 * 32 / 62, 1e-6);
  EXPECT_NEAR(rate(NcclAlgorithm::tree, 1 << 29), 16 * 10.0 * 0.92 / 2, 1e-6);
  problem.nodes = 2;
  problem.ranks = 16;
  EXPECT_NEAR(rate(NcclAlgorithm::ring, 1 << 28), 16 * 20.0 * 16 / 30, 1e-6);
}

// 0.9 of a tree's bandwidth at 256 MiB, all of it from 512 MiB on; 0.85 where each node has one GPU.
TEST(NcclTuner, TreesAreCorrectedBySizeAndByPattern) {
  NcclTunerProblem problem = between_nodes();
  const auto tree = [&](std::int64_t bytes) {
    return tuned(problem, CollectiveOp::all_reduce, NcclAlgorithm::tree, CollectiveProtocol::simple,
                 bytes);
  };
  const double gbps = 320 * 0.92 / 2;
  const double latency = 8.4 + 2 * (7 * 4.0 + 2 * 14);
  EXPECT_NEAR(tree(1 << 28), latency + (1 << 28) / (1000 * gbps * 0.9), 1e-6);
  EXPECT_NEAR(tree(1 << 29), latency + (1 << 29) / (1000 * gbps), 1e-6);
  problem.ranks = 4;
  EXPECT_NEAR(tree(1 << 29), 8.4 + 2 * 2 * 14 + (1 << 29) / (1000 * gbps * 0.85), 1e-6);
}

// 40 calls on 16 channels are three a channel: a ring repeats its latency, the others begin a batch of eight.
TEST(NcclTuner, CallsOfAGroupRepeatARingsLatency) {
  const NcclTunerProblem problem;
  const auto latency = [&](NcclAlgorithm algorithm, int calls) {
    return *nccl_tuner_time_us(problem, CollectiveOp::all_reduce, algorithm,
                               CollectiveProtocol::simple, 0, calls);
  };
  EXPECT_NEAR(latency(NcclAlgorithm::ring, 3), 3 * (8.4 + 14 * 3.4), 1e-9);
  EXPECT_NEAR(latency(NcclAlgorithm::nvls, 8), 25, 1e-9);
  EXPECT_NEAR(latency(NcclAlgorithm::nvls, 9), 50, 1e-9);
  const auto group =
      nccl_tuner_group(problem, CollectiveOp::all_reduce, std::vector<std::int64_t>(40, 1 << 20));
  ASSERT_EQ(group.size(), 1U);
  EXPECT_EQ(group[0].calls, 40);
  EXPECT_EQ(group[0].algorithm, NcclAlgorithm::nvls);
  const double switched = 1000 * 320 * 0.85 * 15 / 16 * 2 * 8 / 14;
  EXPECT_NEAR(group[0].time_us, 25 + 40 * (1 << 20) / switched, 1e-6);
}

// Sizes are summed from the smallest up, as long as they are less than four times it.
TEST(NcclTuner, CallsOfLikeSizesAreTakenTogether) {
  const NcclTunerProblem problem;
  const auto group = nccl_tuner_group(problem, CollectiveOp::all_gather,
                                      {4 << 20, 1 << 20, (4 << 20) - 1, 1 << 28, 3 << 10});
  std::vector<std::pair<std::int64_t, int>> taken;
  for (const NcclTunerPick& pick : group) taken.emplace_back(pick.bytes, pick.calls);
  EXPECT_EQ(taken, (std::vector<std::pair<std::int64_t, int>>{
                       {3 << 10, 1}, {(5 << 20) - 1, 2}, {4 << 20, 1}, {1 << 28, 1}}));
  EXPECT_EQ(group[0].protocol, CollectiveProtocol::ll);
  EXPECT_EQ(group[3].protocol, CollectiveProtocol::simple);
  for (const NcclTunerPick& pick : group) {
    const auto alone = nccl_tuner_pick(problem, CollectiveOp::all_gather, pick.bytes);
    EXPECT_EQ(pick.time_us, alone->time_us);
  }
  EXPECT_TRUE(nccl_tuner_group(problem, CollectiveOp::all_to_all, {1 << 20}).empty());
}

}  // namespace
}  // namespace weft::model
