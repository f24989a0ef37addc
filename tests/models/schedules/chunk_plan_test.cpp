// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/chunk_plan.hpp"

#include <map>

#include <gtest/gtest.h>

namespace weft::model {
namespace {

// Whatever the order, every row is in exactly one chunk of each rank, under its owner.
TEST(ChunkPlan, CutsEveryRowOnce) {
  for (const ChunkOrder order : {ChunkOrder::sliced, ChunkOrder::rotated}) {
    for (const bool own_first : {true, false}) {
      for (const std::int64_t rows : {1, 7, 127, 129, 1024}) {
        for (const int ranks : {1, 2, 3, 8}) {
          for (const int chunks : {1, 2, 5, 32}) {
            const ChunkPlan plan(rows, ranks, chunks, order, own_first);
            for (int rank = 0; rank < ranks; ++rank) {
              std::vector<int> seen(static_cast<std::size_t>(rows), 0);
              for (int chunk = 0; chunk < plan.size(); ++chunk) {
                for (const Piece& piece : plan.pieces(rank, chunk)) {
                  const RowRange shard = shard_of(rows, ranks, piece.owner);
                  EXPECT_LE(shard.begin, piece.rows.begin);
                  EXPECT_GE(shard.end, piece.rows.end);
                  for (std::int64_t row = piece.rows.begin; row < piece.rows.end; ++row)
                    ++seen[static_cast<std::size_t>(row)];
                }
              }
              EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(rows), 1));
            }
          }
        }
      }
    }
  }
}

TEST(ChunkPlan, SlicedChunksAreTheSameRowsOnEveryRank) {
  const ChunkPlan plan(1024, 4, 3, ChunkOrder::sliced, true);
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    std::map<int, RowRange> first;
    for (const Piece& piece : plan.pieces(0, chunk)) first[piece.owner] = piece.rows;
    for (int rank = 1; rank < 4; ++rank) {
      std::map<int, RowRange> other;
      for (const Piece& piece : plan.pieces(rank, chunk)) other[piece.owner] = piece.rows;
      EXPECT_EQ(first, other);
    }
  }
}

TEST(ChunkPlan, RotatedPlansStartWithTheNextRankAndKeepTheirOwnApart) {
  const ChunkPlan gather(800, 4, 3, ChunkOrder::rotated, true);
  EXPECT_EQ(gather.size(), 4);
  EXPECT_EQ(gather.pieces(2, 0), (std::vector<Piece>{{2, {400, 600}}}));
  EXPECT_EQ(gather.pieces(2, 1), (std::vector<Piece>{{3, {600, 800}}}));
  EXPECT_EQ(gather.pieces(2, 2), (std::vector<Piece>{{0, {0, 200}}}));
  const ChunkPlan scatter(800, 4, 3, ChunkOrder::rotated, false);
  EXPECT_EQ(scatter.pieces(2, 3), (std::vector<Piece>{{2, {400, 600}}}));
}

TEST(ChunkPlan, OwnershipIsCeilBlocksAndEmptyOwnersAreLegal) {
  EXPECT_EQ(shard_of(10, 4, 0), (RowRange{0, 3}));
  EXPECT_EQ(shard_of(10, 4, 3), (RowRange{9, 10}));
  EXPECT_TRUE(shard_of(5, 4, 3).empty());
}

}  // namespace
}  // namespace weft::model
