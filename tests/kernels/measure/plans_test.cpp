// SPDX-License-Identifier: Apache-2.0
// The lists of pieces that communication CTAs work through, proved on byte sets; kernel names; what back
// ends decide from counts.
#include <map>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/baseline/cublaslt.hpp"
#include "kernels/collectives/transfer.hpp"
#include "kernels/collectives/window.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

constexpr std::int64_t kVector = 16;

/// By vector of the target: the (source, offset) pairs that reach it.
std::map<std::int64_t, std::vector<std::pair<int, std::int64_t>>> arrivals(
    const CollectivePlan& plan) {
  std::map<std::int64_t, std::vector<std::pair<int, std::int64_t>>> found;
  for (const TransferPiece& piece : plan.pieces)
    for (std::int64_t at = 0; at < piece.bytes; at += kVector)
      for (int s = 0; s < piece.sources; ++s)
        found[piece.target_offset + at].emplace_back(piece.first_source + s,
                                                     piece.source_offset + at);
  return found;
}

TEST(Plans, SplitsTileTheWholeWithoutOverlap) {
  for (const std::int64_t total : {0, 16, 48, 160, 1024})
    for (const int parts : {1, 2, 3, 7, 64}) {
      std::int64_t next = 0;
      for (const ByteRange& range : split_bytes(total, parts, kVector)) {
        EXPECT_EQ(range.offset, next);
        EXPECT_GT(range.bytes, 0);
        EXPECT_EQ(range.bytes % kVector, 0);
        next += range.bytes;
      }
      EXPECT_EQ(next, total);
    }
}

TEST(Plans, AllGatherDeliversEachForeignVectorOnceFromItsOwner) {
  for (const int ranks : {2, 3, 4, 8})
    for (int rank = 0; rank < ranks; ++rank)
      for (const int chunks : {1, 3, 8}) {
        const std::int64_t shard = 160;
        const CollectivePlan plan = plan_all_gather(ranks, rank, shard, chunks);
        const auto found = arrivals(plan);
        EXPECT_EQ(plan.bytes_read, (ranks - 1) * shard);
        for (std::int64_t at = 0; at < ranks * shard; at += kVector) {
          const int owner = static_cast<int>(at / shard);
          if (owner == rank) {
            EXPECT_FALSE(found.contains(at));
            continue;
          }
          ASSERT_EQ(found.at(at).size(), 1u);
          EXPECT_EQ(found.at(at)[0], std::pair(owner, at));
        }
      }
}

TEST(Plans, ReduceScatterTakesEveryPartialOnce) {
  for (const int ranks : {2, 4, 8})
    for (int rank = 0; rank < ranks; ++rank) {
      const std::int64_t shard = 96;
      const auto found = arrivals(plan_reduce_scatter(ranks, rank, shard, 2));
      for (std::int64_t at = 0; at < shard; at += kVector) {
        ASSERT_EQ(found.at(at).size(), static_cast<std::size_t>(ranks));
        for (int source = 0; source < ranks; ++source)
          EXPECT_EQ(found.at(at)[static_cast<std::size_t>(source)],
                    std::pair(source, rank * shard + at));
      }
    }
}

TEST(Plans, AllReduceOneShotSumsTheWholeOnEveryRank) {
  const auto found = arrivals(plan_all_reduce_one_shot(4, 3, 320, 3));
  EXPECT_EQ(found.size(), 20u);
  for (const auto& [at, sources] : found) {
    ASSERT_EQ(sources.size(), 4u);
    EXPECT_EQ(sources[2], std::pair(2, at));
  }
}

TEST(Plans, AllToAllTransposesBlocks) {
  const std::int64_t block = 64;
  const auto found = arrivals(plan_all_to_all(4, 1, block, 1));
  for (int peer = 0; peer < 4; ++peer) EXPECT_EQ(found.at(peer * block)[0], std::pair(peer, block));
}

TEST(Plans, SignalsAreOneAChunkInTheOrderOfThePieces) {
  const CollectivePlan plan = plan_all_gather(4, 2, 1024, 4);
  ASSERT_EQ(plan.pieces.size(), 12u);
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) EXPECT_EQ(plan.pieces[i].post_signal, i);
  EXPECT_EQ(plan.pieces.front().first_source, 3) << "the order is rotated";
}

TEST(Plans, RefuseOddSizesAndRanksOutsideTheGroup) {
  EXPECT_THROW(plan_all_gather(4, 4, 64, 1), std::invalid_argument);
  EXPECT_THROW(plan_all_gather(17, 0, 64, 1), std::invalid_argument);
  EXPECT_THROW(plan_all_gather(4, 0, 60, 1), std::invalid_argument);
  EXPECT_THROW(plan_all_gather(4, 0, 64, 0), std::invalid_argument);
}

TEST(Windows, WhatIsUnderWayIsNeverMoreThanTheLimit) {
  for (const std::int64_t loads : {0, 1'024, 4'096, 10'922, 16'384, 50'000, 131'072, 1'000'000})
    for (const std::int64_t stores : {0, 1'500, 4'096, 21'845, 32'768, 131'072}) {
      const Window window = Window::of(loads, stores);
      EXPECT_EQ(window.slot_bytes % 128, 0);
      EXPECT_LE(window.slots, Window::most_slots);
      EXPECT_LE(window.slots * window.slot_bytes, Window::ring_bytes);
      EXPECT_LE(window.stores, Window::most_stores);
      EXPECT_LE(window.loads + window.stores, window.slots) << "neither may starve the other";
      for (const auto& [count, limit] :
           {std::pair(window.loads, loads), std::pair(window.stores, stores)}) {
        EXPECT_GE(count, 1);
        EXPECT_LE(count, window.slots);
        EXPECT_LE(count * window.slot_bytes, limit == 0 ? Window::ring_bytes : limit);
      }
    }
  EXPECT_EQ(Window::of(0, 32'768).stores, 4) << "a quarter is waited for while the rest goes on";
}

TEST(KernelName, TellsTileStagesAndCluster) {
  LibraryKernel kernel;
  ASSERT_TRUE(read_kernel_name("nvjet_sm90_tst_192x128_64x4_2x1_v_bz_coopA_TNT", kernel));
  EXPECT_EQ(kernel.tile_columns, 192);
  EXPECT_EQ(kernel.tile_rows, 128);
  EXPECT_EQ(kernel.tile_depth, 64);
  EXPECT_EQ(kernel.stages, 4);
  EXPECT_EQ(kernel.cluster_columns, 2);
  EXPECT_EQ(kernel.cluster_rows, 1);
}

TEST(KernelName, OfAnotherFormIsLeftAlone) {
  LibraryKernel kernel;
  EXPECT_FALSE(read_kernel_name("sm80_xmma_gemm_bf16bf16_128x128", kernel));
  EXPECT_FALSE(read_kernel_name("nvjet_sm90_odd", kernel));
  EXPECT_FALSE(read_kernel_name("", kernel));
  EXPECT_EQ(kernel.tile_rows, 0);
}

TEST(VirtualRanks, PartitionsAreThoseThatFitTheDevice) {
  EXPECT_EQ(partition_sms(132, 2, 8), 64);
  EXPECT_EQ(partition_sms(132, 4, 8), 32);
  EXPECT_EQ(partition_sms(132, 8, 8), 16);
  EXPECT_EQ(partition_sms(114, 8, 8), 8);
  EXPECT_THROW(partition_sms(16, 4, 8), std::invalid_argument);
  EXPECT_THROW(partition_sms(132, 0, 8), std::invalid_argument);
}

TEST(Backends, PeerGpusWhereEveryPairIsReachable) {
  EXPECT_EQ(choose_backend(2, 2, true), Backend::peer_gpus);
  EXPECT_EQ(choose_backend(2, 2, false), Backend::virtual_ranks);
  EXPECT_EQ(choose_backend(4, 2, true), Backend::virtual_ranks);
  EXPECT_EQ(choose_backend(8, 1, true), Backend::virtual_ranks);
}

}  // namespace
}  // namespace weft::kernels
