// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "kernels/shapes/choose.hpp"
#include "kernels/shapes/ownership.hpp"
#include "kernels/shapes/table.hpp"

namespace weft::kernels::shapes {
namespace {

TEST(Ownership, EveryRowHasOneOwnerAndOneChunk) {
  for (int rows = 1; rows <= 70; ++rows)
    for (int ranks = 1; ranks <= 9; ++ranks)
      for (int chunks = 1; chunks <= 5; ++chunks) {
        const Ownership o{rows, ranks, chunks};
        int next = 0;
        for (int c = 0; c < o.chunks(); ++c) {
          const Rows piece = o.chunk(c);
          ASSERT_GE(piece.count(), 0);
          if (piece.count() == 0) continue;
          ASSERT_EQ(piece.begin, next);
          next = piece.end;
          for (int row = piece.begin; row < piece.end; ++row) ASSERT_EQ(o.chunk_of(row), c);
        }
        ASSERT_EQ(next, rows);
      }
}

TEST(Ownership, FewerRowsThanRanksLeavesOwnersEmpty) {
  const Ownership o{3, 8, 1};
  EXPECT_EQ(o.shard(2), (Rows{2, 3}));
  for (int rank = 3; rank < 8; ++rank) EXPECT_EQ(o.shard(rank).count(), 0);
}

TEST(TileTable, NamesAreDistinctAndFound) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    EXPECT_TRUE(names.insert(tiles[i].name).second) << tiles[i].name;
    EXPECT_EQ(tile_index(tiles[i].name), static_cast<int>(i));
  }
  EXPECT_FALSE(tile_index("1x1").has_value());
}

TEST(TileTable, EveryEntryFitsAnSm) {
  for (const Tile& tile : tiles) {
    EXPECT_LE(tile.shared_bytes(), Tile::shared_limit_bytes()) << tile.name;
    EXPECT_LE(tile.registers(), 65'536) << tile.name;
    // After setmaxnreg the warpgroups together hold no more than at launch.
    EXPECT_LE(128 * (40 + tile.warpgroups * tile.consumer_registers()), tile.registers())
        << tile.name;
  }
}

TEST(Waves, AreTilesOverResidentClustersRoundedUp) {
  const Tile& tile = tiles[static_cast<std::size_t>(*tile_index("128x256_c2x1"))];
  // 4096 x 7168: 16 x 28 clusters of two tiles on 66 pairs of SMs.
  EXPECT_EQ(cluster_tiles(tile, 4'096, 7'168), 448);
  EXPECT_EQ(waves(tile, 4'096, 7'168, 132), 7);
  EXPECT_EQ(waves(tile, 4'096, 7'168, 1), 0);
}

TEST(Waves, ClustersOfFourLeaveSmsIdle) {
  const Tile& four = tiles[static_cast<std::size_t>(*tile_index("128x256_c4x1"))];
  EXPECT_EQ(resident_clusters(four, 132), 30);
  const Tile& split = tiles[static_cast<std::size_t>(*tile_index("128x160_k2"))];
  // 1024 x 1280: 8 x 8 tiles, each by two CTAs.
  EXPECT_EQ(split.cluster(), 2);
  EXPECT_EQ(cluster_tiles(split, 1'024, 1'280), 64);
  EXPECT_EQ(waves(split, 1'024, 1'280, 132), 1);
}

TEST(Waves, SpreadPartsOfKAreTilesOfTheirOwn) {
  const Tile& spread = tiles[static_cast<std::size_t>(*tile_index("128x160_c2x1_s2"))];
  // 1024 x 1280: 4 x 8 clusters of two tiles, each by two clusters.
  EXPECT_EQ(spread.cluster(), 2);
  EXPECT_EQ(spread.parts(), 2);
  EXPECT_EQ(cluster_tiles(spread, 1'024, 1'280), 64);
  EXPECT_EQ(waves(spread, 1'024, 1'280, 132), 1);
}

TEST(ChooseTile, NeverTakesMoreEstimatedCyclesThanAnotherTile) {
  for (const int m : {1, 64, 300, 1'024, 4'096})
    for (const int n : {256, 1'280, 7'168})
      for (const int k : {512, 8'192})
        for (const int sms : {1, 16, 116, 132}) {
          const Tile& chosen = tiles[static_cast<std::size_t>(choose_tile(m, n, k, sms))];
          for (const Tile& tile : tiles) {
            if (!choosable(tile) || estimated_cycles(tile, m, n, k, sms) == 0) continue;
            EXPECT_LE(estimated_cycles(chosen, m, n, k, sms), estimated_cycles(tile, m, n, k, sms));
          }
        }
}

TEST(ChooseTile, IsDefinedForOneSm) {
  EXPECT_EQ(tiles[static_cast<std::size_t>(choose_tile(1, 8, 8, 1))].cluster(), 1);
}

}  // namespace
}  // namespace weft::kernels::shapes
