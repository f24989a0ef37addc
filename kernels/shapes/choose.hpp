// SPDX-License-Identifier: Apache-2.0
// Which tile a product should be computed with: the one whose waves take the fewest cycles.
//   waves  = ceil(ceil(mt / cluster_m) * ceil(nt / cluster_n) * spread_k / resident clusters)
//   cycles = waves * (ceil(K / 64 / parts) * stage_cycles + turn_cycles) + what the power limit adds
// Ignored: HBM, the order of tiles, and the clock, which is why only ratios of cycles mean anything.
#pragma once

#include <cstdint>

#include "kernels/shapes/ownership.hpp"
#include "kernels/shapes/table.hpp"

namespace weft::kernels::shapes {

/// Returns the clusters of CTAs that a product of M x N needs, one tile, or one part of its K, a CTA.
constexpr std::int64_t cluster_tiles(const Tile& tile, int m, int n) {
  return std::int64_t{ceil_div(ceil_div(m, tile.m()), tile.cluster_m)} *
         ceil_div(ceil_div(n, tile.n()), tile.cluster_n) * tile.spread_k;
}

/// Returns the clusters that `sms` SMs hold at once, one CTA an SM. A cluster lies within a GPC, and GPCs
/// of 16 and 18 SMs leave some over: an H200 holds 66 clusters of two and 30 of four, however few SMs
/// a launch is told to use.
constexpr int resident_clusters(const Tile& tile, int sms) {
  constexpr int most_of_four = 30;
  const int fit = sms / tile.cluster();
  return tile.cluster() <= 2 || fit < most_of_four ? fit : most_of_four;
}

/// Returns the rounds in which `sms` SMs compute M x N; zero if no cluster fits.
constexpr std::int64_t waves(const Tile& tile, int m, int n, int sms) {
  const std::int64_t resident = resident_clusters(tile, sms);
  return resident == 0 ? 0 : (cluster_tiles(tile, m, n) + resident - 1) / resident;
}

/// Returns the estimated cycles of a product M x N x K on `sms` SMs; zero if no cluster fits. The
/// constants are fitted to every tile on 38 shapes and 64 to 132 SMs of one H200 (docs/kernels.md).
constexpr std::int64_t estimated_cycles(const Tile& tile, int m, int n, int k, int sms) {
  const std::int64_t rounds = waves(tile, m, n, sms);
  if (rounds == 0) return 0;
  const std::int64_t stages = ceil_div(ceil_div(k, Tile::k()), tile.parts());
  // The tensor cores of a Hopper SM multiply and add 2,048 pairs a cycle (H100 datasheet: 989
  // TFLOP/s over 132 SMs at 1.83 GHz).
  const std::int64_t math = std::int64_t{tile.m()} * tile.n() * Tile::k() / 2'048;
  // Shared memory moves 128 bytes a cycle: every stage is written once, and each warpgroup that reads
  // it reads its rows of X, and of W once for each 64 of them. A quarter of that hides.
  const int readers = tile.split == Split::turns ? 1 : tile.warpgroups;
  const std::int64_t reads =
      readers * (tile.warpgroup_m / 64) * std::int64_t{64 + tile.warpgroup_n};
  const std::int64_t shared = (reads + tile.m() + tile.n()) * 76 / 100;
  // The L2 gives all SMs together 7,600 bytes a cycle; rows of a stage have 128.
  const std::int64_t rows_from_l2 = tile.m() / tile.cluster_n + tile.n() / tile.cluster_m;
  const std::int64_t clusters = cluster_tiles(tile, m, n);
  const std::int64_t resident = resident_clusters(tile, sms);
  const std::int64_t busy = (clusters < resident ? clusters : resident) * tile.cluster();
  const std::int64_t l2 = rows_from_l2 * 128 * busy / 7'600;
  const std::int64_t longer = math > shared ? math : shared;
  const std::int64_t stage = longer > l2 ? longer : l2;
  // Rounding out and storing a tile: 15 elements a cycle; where warpgroups take turns only the last one
  // shows.
  const std::int64_t turn = std::int64_t{tile.m()} * tile.n() / 15;
  const std::int64_t between = tile.hides_turns() ? 0 : turn;
  // Partners in K wait for each other and exchange half of their sums; or the last of them waits for
  // what each of the others leaves.
  const std::int64_t exchange = tile.split_k == 1 ? 0 : 5'000;
  const std::int64_t left =
      6'000 * (tile.spread_k - 1) * ((rounds + tile.spread_k - 1) / tile.spread_k);
  const std::int64_t path =
      rounds * (stages * stage + between + exchange) + left + (tile.hides_turns() ? turn : 0);
  // Power is the whole chip's: the clock falls with what all tiles spend, so that SMs which idle lend
  // theirs to the others. A multiplication counts 0.13 cycles of 132 SMs, a row of 128 bytes from the
  // L2 0.26.
  const std::int64_t power =
      clusters * tile.cluster() * stages * (13 * math + 26 * rows_from_l2) / (100 * 132);
  return path + power;
}

/// Returns whether the chooser considers a tile: of the clusters of more than two, which leave SMs idle,
/// only those that split K.
constexpr bool choosable(const Tile& tile) {
  return tile.cluster() <= 2 || tile.split_k > 1;
}

/// Returns the index of the tile with the fewest estimated cycles for M x N x K on `sms` SMs.
constexpr int choose_tile(int m, int n, int k, int sms) {
  int best = 0;
  std::int64_t best_cycles = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t cycles = estimated_cycles(tiles[i], m, n, k, sms);
    if (cycles == 0 || !choosable(tiles[i])) continue;
    // Between equals the later, larger tile reads less memory.
    if (best_cycles == 0 || cycles <= best_cycles) {
      best = static_cast<int>(i);
      best_cycles = cycles;
    }
  }
  return best;
}

}  // namespace weft::kernels::shapes
