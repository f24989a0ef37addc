// SPDX-License-Identifier: Apache-2.0
// The fused kernels between ranks that share one device: every operation on ragged shapes, and the
// protocol under repetition, wrap, replay, delay and disorder.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/memory/check.hpp"
#include "kernels/shapes/table.hpp"
#include "tests/kernels/sm90/device_test.hpp"
#include "tests/kernels/sm90/group.hpp"

namespace weft::kernels {
namespace {

using test::Group;
using test::GroupProblem;
using test::Operation;

/// Partials are rounded to bf16 once before they are added and the sum once more.
constexpr double kSumsTolerance = 5e-3;

constexpr std::array every_operation{Operation::ag_gemm,          Operation::ag_gemm_far,
                                     Operation::gemm_rs,          Operation::gemm_rs_apart,
                                     Operation::gemm_rs_add,      Operation::gemm_rs_epilogue,
                                     Operation::gemm_ar,          Operation::gemm_ar_epilogue,
                                     Operation::gemm_ar_one_shot, Operation::gemm_a2a};
/// Operations whose rounds need nothing between them.
constexpr std::array repeatable{Operation::ag_gemm,          Operation::ag_gemm_far,
                                Operation::gemm_rs,          Operation::gemm_rs_apart,
                                Operation::gemm_rs_epilogue, Operation::gemm_ar,
                                Operation::gemm_ar_epilogue, Operation::gemm_ar_one_shot};

std::string text(const GroupProblem& p) {
  return "operation " + std::to_string(static_cast<int>(p.operation)) + ", " +
         std::to_string(p.ranks) + " ranks, " + std::to_string(p.chunks_per_shard) + " chunks, " +
         std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + ", tile " +
         std::to_string(p.options.tile);
}

class Fused : public test::DeviceTest {};

void expect_group_right(Group& group, const GroupProblem& problem, Signal sequence) {
  group.poison();
  group.launch(sequence);
  group.finish();
  EXPECT_LT(group.difference(sequence), kSumsTolerance) << text(problem);
  for (int r = 0; r < problem.ranks; ++r)
    if (const auto error = group.workspace(r).error()) ADD_FAILURE() << error->text();
}

int tile_named(const char* name) {
  return shapes::tile_index(name).value();
}

TEST_F(Fused, RaggedRowsAndEmptyOwnersMatchTheReference) {
  std::uint32_t seed = 100;
  const std::array tiles{tile_named("64x128"),       tile_named("128x128_c2x1_turns"),
                         tile_named("128x160_k2"),   tile_named("128x192_c2x1_k2"),
                         tile_named("192x192_c1x2"), tile_named("256x160_c2x1")};
  std::size_t turn = 0;
  for (const Operation operation : every_operation)
    for (const int ranks : {2, 4, 8})
      for (const int m : {1, 7, 127, 129, 1'000}) {
        GroupProblem problem{operation, ranks, m > 500 ? 3 : 1, m, 264, 200, 4};
        problem.options.tile = tiles[turn++ % tiles.size()];
        problem.options.scheduler = turn % 2 == 0 ? Scheduler::static_shares : Scheduler::counter;
        Group group(problem, seed += 40);
        expect_group_right(group, problem, 1);
      }
}

/// By operation, so that a checker which takes minutes can be given one at a time.
class EveryTile : public Fused, public testing::WithParamInterface<Operation> {};

TEST_P(EveryTile, ServesTheOperation) {
  std::uint32_t seed = 9'000;
  for (std::size_t tile = 0; tile < shapes::tiles.size(); ++tile) {
    GroupProblem problem{GetParam(), 2, 2, 1'030, 776, 328};
    problem.communication_ctas = 4;
    problem.options.tile = static_cast<int>(tile);
    Group group(problem, seed += 40);
    expect_group_right(group, problem, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Fused, EveryTile, testing::ValuesIn(every_operation),
                         [](const auto& param) { return std::string(test::name(param.param)); });

TEST_F(Fused, RowsOfASlotMayLieApart) {
  for (const Operation operation :
       {Operation::gemm_rs, Operation::gemm_rs_apart, Operation::gemm_rs_epilogue,
        Operation::gemm_ar, Operation::gemm_ar_epilogue, Operation::gemm_ar_one_shot}) {
    GroupProblem problem{operation, 4, 3, 1'003, 776, 200};
    problem.slot_padding = 24;
    Group group(problem, 41);
    expect_group_right(group, problem, 1);
  }
}

TEST_F(Fused, FarRowsComeByManyTurnsOfTheSlots) {
  // Shares of a chunk that fill every slot and more, rows that lie together and apart, a share a CTA and none.
  for (const int padding : {0, 24})
    for (const int ctas : {1, 2, 16}) {
      GroupProblem problem{Operation::ag_gemm_far, 2, 3, 1'003, 264, 1'000, ctas};
      problem.options.tile = tile_named("64x128");
      problem.x_padding = padding;
      problem.options.pace.bytes_per_second = ctas == 2 ? 40'000'000'000 : 0;
      Group group(problem, 44);
      expect_group_right(group, problem, 1);
      expect_group_right(group, problem, 2);
    }
  GroupProblem few{Operation::ag_gemm_far, 2, 1, 3, 264, 40, 16};
  few.options.tile = tile_named("64x128");
  Group group(few, 45);
  expect_group_right(group, few, 1);
}

TEST_F(Fused, OwnersMayTakeTurns) {
  // Whole groups of tiles a shard, groups that span chunks, and rows for which owners follow each other.
  for (const auto& [m, chunks] : {std::pair{1'024, 2}, std::pair{1'024, 8}, std::pair{1'003, 2}})
    for (const Operation operation :
         {Operation::gemm_rs, Operation::gemm_rs_apart, Operation::gemm_ar, Operation::gemm_a2a})
      for (const char* tile : {"64x128", "128x192_c2x1_turns", "64x128_s4"}) {
        GroupProblem problem{operation, 4, chunks, m, 776, 200};
        problem.options.tile = tile_named(tile);
        problem.owners_in_turns = true;
        Group group(problem, 43);
        expect_group_right(group, problem, 1);
      }
}

TEST_F(Fused, ThousandRoundsNeedNoReset) {
  for (const Operation operation : repeatable) {
    GroupProblem problem{operation, 4, 2, 515, 264, 136};
    problem.options.tile = tile_named("64x128");
    Group group(problem, 31);
    for (Signal round = 1; round <= 1'000; ++round) group.launch(round);
    group.finish();
    EXPECT_LT(group.difference(1'000), kSumsTolerance) << text(problem);
    expect_group_right(group, problem, 1'001);
  }
}

TEST_F(Fused, SequenceNumbersMayWrap) {
  for (const Operation operation : repeatable) {
    const GroupProblem problem{operation, 2, 2, 260, 264, 136};
    Group group(problem, 32);
    const Signal before = 0xFFFF'FFFCu;
    group.set_flags(before);
    for (Signal step = 1; step <= 8; ++step) expect_group_right(group, problem, before + step);
  }
}

TEST_F(Fused, GraphsReplayBecauseThePhaseMovesOn) {
  GroupProblem problem{Operation::gemm_rs, 2, 2, 260, 264, 136};
  problem.options.advance_phase = true;
  Group group(problem, 33);
  // Two rounds a graph, so that parities alternate; the phase word adds what the replays have done.
  cudaGraph_t graphs[2];
  cudaGraphExec_t ready[2];
  for (int r = 0; r < 2; ++r) {
    WEFT_CUDA(cudaStreamBeginCapture(group.stream(r), cudaStreamCaptureModeThreadLocal));
    for (int parity = 0; parity < 2; ++parity) group.launch(1, {r}, parity);
    WEFT_CUDA(cudaStreamEndCapture(group.stream(r), &graphs[r]));
    WEFT_CUDA(cudaGraphInstantiate(&ready[r], graphs[r], 0));
  }
  for (int replay = 0; replay < 50; ++replay) {
    if (replay == 49) group.poison();
    for (int r = 0; r < 2; ++r) WEFT_CUDA(cudaGraphLaunch(ready[r], group.stream(r)));
  }
  group.finish();
  EXPECT_LT(group.difference(1), kSumsTolerance);
  for (int r = 0; r < 2; ++r) {
    EXPECT_FALSE(group.workspace(r).error().has_value());
    cudaGraphExecDestroy(ready[r]);
    cudaGraphDestroy(graphs[r]);
  }
}

TEST_F(Fused, RanksMayArriveInEveryOrder) {
  for (const Operation operation : repeatable) {
    const GroupProblem problem{operation, 4, 1, 260, 264, 136};
    Group group(problem, 34);
    std::vector<int> order(4);
    std::iota(order.begin(), order.end(), 0);
    Signal sequence = 0;
    do {
      group.poison();
      group.launch(++sequence, order);
      group.finish();
      EXPECT_LT(group.difference(sequence), kSumsTolerance) << text(problem);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_F(Fused, OneRankMayBeASecondLate) {
  for (const Operation operation : repeatable) {
    const GroupProblem problem{operation, 2, 2, 260, 264, 136};
    Group group(problem, 35);
    group.alter(1, [&](Options& options) {
      options.hold = {test::gathers(operation) ? HoldPoint::before_copy : HoldPoint::before_store,
                      2, 1'000'000'000};
      options.wait_budget_ns = 5'000'000'000;
    });
    group.alter(0, [](Options& options) { options.wait_budget_ns = 5'000'000'000; });
    expect_group_right(group, problem, 1);
  }
}

TEST_F(Fused, DelaysAtEveryRankChunkAndRoleChangeNothing) {
  for (const Operation operation : repeatable)
    for (int rank = 0; rank < 2; ++rank) {
      const GroupProblem problem{operation, 2, 2, 260, 264, 136};
      Group group(problem, 36);
      Signal sequence = 0;
      for (const HoldPoint point :
           {HoldPoint::before_load, HoldPoint::before_store, HoldPoint::before_post,
            HoldPoint::before_copy, HoldPoint::before_reduce})
        for (int chunk = 0; chunk < 4; ++chunk) {
          group.alter(rank, [&](Options& options) { options.hold = {point, chunk, 300'000}; });
          expect_group_right(group, problem, ++sequence);
        }
    }
}

TEST_F(Fused, AFlagBeforeItsDataIsCaught) {
  for (const Operation operation : repeatable) {
    const GroupProblem problem{operation, 2, 2, 260, 264, 136};
    Group group(problem, 37);
    // A sound round first: loading a kernel may wait for the device, which would hide the early flag.
    expect_group_right(group, problem, 1);
    group.alter(0, [&](Options& options) {
      options.flag_before_data = true;
      options.hold = {test::gathers(operation) ? HoldPoint::before_copy : HoldPoint::before_store,
                      -1, 1'000'000};
    });
    group.poison();
    group.launch(2);
    group.finish();
    EXPECT_FALSE(group.difference(2) < kSumsTolerance)
        << text(problem) << ": the weakened protocol went unnoticed";
  }
}

TEST_F(Fused, SumsOfTheEpilogueAreTheSameBitsInEveryRoundAndOrder) {
  for (const Operation operation : {Operation::gemm_rs_epilogue, Operation::gemm_ar_epilogue})
    for (const int chunks : {1, 2, 4}) {
      GroupProblem problem{operation, 4, chunks, 4 * 512, 776, 328};
      problem.options.tile = tile_named("128x144_c2x1_turns");
      Group group(problem, 47);
      std::vector<std::uint16_t> first;
      Signal sequence = 0;
      for (const auto& order : {std::vector{0, 1, 2, 3}, std::vector{3, 1, 0, 2}}) {
        sequence += 2;  // the same operands
        group.poison();
        group.launch(sequence - 1, order);
        group.launch(sequence, order);
        group.finish();
        EXPECT_LT(group.difference(sequence), kSumsTolerance) << text(problem);
        const std::vector<std::uint16_t> bits = group.result(1);
        if (first.empty()) first = bits;
        EXPECT_TRUE(first == bits) << text(problem);
      }
    }
}

TEST_F(Fused, SumsOfTheEpilogueNeedTheirOwnRowsLast) {
  GroupProblem problem{Operation::gemm_rs_epilogue, 2, 2, 1'024, 264, 136};
  problem.owners_in_turns = true;
  EXPECT_THROW(Group(problem, 48), std::invalid_argument);
}

class StarvedSum : public Fused, public testing::WithParamInterface<Operation> {};

TEST_P(StarvedSum, IsReportedAndTheProcessGoesOn) {
  const GroupProblem problem{GetParam(), 2, 2, 260, 264, 136};
  Group group(problem, 38);
  for (int rank = 0; rank < 2; ++rank)
    group.alter(rank, [](Options& options) { options.wait_budget_ns = 200'000'000; });
  const auto start = std::chrono::steady_clock::now();
  group.launch(1, {0});  // rank 1 never comes
  group.finish();
  const auto error = group.workspace(0).error();
  ASSERT_TRUE(error.has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(error->kind, WaitKind::partial);
  EXPECT_EQ(error->rank, 0);
  EXPECT_EQ(error->source, 1);
  // A pass adds one chunk after another; tiles of both wait.
  EXPECT_LT(error->chunk, GetParam() == Operation::gemm_rs ? 1 : 2);
  EXPECT_EQ(error->expected, 1u);
  EXPECT_EQ(error->seen, 0u);
  EXPECT_NE(error->text().find("rank 0, CTA"), std::string::npos) << error->text();
  group.workspace(0).clear();
  EXPECT_FALSE(group.workspace(0).error().has_value());
  expect_group_right(group, problem, 2);
}

INSTANTIATE_TEST_SUITE_P(Fused, StarvedSum,
                         testing::Values(Operation::gemm_rs, Operation::gemm_rs_epilogue),
                         [](const auto& param) { return std::string(test::name(param.param)); });

TEST_F(Fused, AStarvedGatherIsReportedWithItsChunk) {
  GroupProblem problem{Operation::ag_gemm, 2, 2, 260, 264, 136};
  problem.communication_ctas = 0;  // nobody moves the chunks
  problem.options.wait_budget_ns = 200'000'000;
  Group group(problem, 39);
  group.launch(1, {0});
  group.finish();
  const auto error = group.workspace(0).error();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->kind, WaitKind::gathered_chunk);
  EXPECT_EQ(error->source, 1);
  EXPECT_GE(error->chunk, 2);
}

TEST_F(Fused, AShardThatIsNeverReadyIsReported) {
  for (const Operation operation : {Operation::ag_gemm, Operation::ag_gemm_far}) {
    GroupProblem problem{operation, 2, 2, 260, 264, 136};
    problem.shards_ready = false;
    problem.options.wait_budget_ns = 200'000'000;
    Group group(problem, 46);
    group.launch(1, {0});
    group.finish();
    const auto error = group.workspace(0).error();
    ASSERT_TRUE(error.has_value());
    // Who waits for the shard, or a tile that waits for its first chunk.
    EXPECT_TRUE(error->kind == WaitKind::peer_shard || error->kind == WaitKind::gathered_chunk);
    EXPECT_EQ(error->source, 1);
  }
}

}  // namespace
}  // namespace weft::kernels
