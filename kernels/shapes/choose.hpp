// SPDX-License-Identifier: Apache-2.0
// Which tile a product should be computed with: the one whose waves take the fewest cycles.
//   waves  = ceil(ceil(mt / cluster_m) * ceil(nt / cluster_n) / resident clusters)
//   cycles = waves * (ceil(K / 64 / split_k) * stage_cycles + turn_cycles)
// Ignored: HBM, partial last waves, and the clock, which is why only ratios of cycles mean
// anything.
#pragma once

#include <cstdint>

#include "kernels/shapes/ownership.hpp"
#include "kernels/shapes/table.hpp"

namespace weft::kernels::shapes {

/// Returns the clusters of CTAs that a product of M x N needs, one tile a CTA.
constexpr std::int64_t cluster_tiles(const Tile& tile, int m, int n) {
  return std::int64_t{ceil_div(ceil_div(m, tile.m()), tile.cluster_m)} *
         ceil_div(ceil_div(n, tile.n()), tile.cluster_n);
}

/// Returns the clusters that `sms` SMs hold at once, one CTA an SM. A cluster lies within a GPC, and GPCs
/// of 16 and 18 SMs leave some over: 132 SMs of an H200 hold 66 clusters of two and 30 of four.
constexpr int resident_clusters(const Tile& tile, int sms) {
  return tile.cluster() <= 2 ? sms / tile.cluster() : sms * 10 / 11 / tile.cluster();
}

/// Returns the rounds in which `sms` SMs compute M x N; zero if no cluster fits.
constexpr std::int64_t waves(const Tile& tile, int m, int n, int sms) {
  const std::int64_t resident = resident_clusters(tile, sms);
  return resident == 0 ? 0 : (cluster_tiles(tile, m, n) + resident - 1) / resident;
}

/// Returns the estimated cycles of a product M x N x K on `sms` SMs; zero if no cluster fits.
constexpr std::int64_t estimated_cycles(const Tile& tile, int m, int n, int k, int sms) {
  // The tensor cores of a Hopper SM multiply and add 2,048 pairs a cycle (H100 datasheet: 989
  // TFLOP/s over 132 SMs at 1.83 GHz). Under sustained power the clock falls as if each cycle
  // took 1.2, and operands that come over from the L2 cost energy too, as 0.3 cycles a row of 128
  // bytes: fitted to the README's table of one H200.
  const std::int64_t math = std::int64_t{tile.m()} * tile.n() * Tile::k() / 2'048;
  const std::int64_t rows_from_l2 = tile.m() / tile.cluster_n + tile.n() / tile.cluster_m;
  const std::int64_t power = (12 * math + 3 * rows_from_l2) / 10;
  // Shared memory moves 128 bytes a cycle: every stage is written once, and each warpgroup reads
  // its rows of X, and of W once for each 64 of them.
  const std::int64_t reads =
      tile.warpgroups * (tile.warpgroup_m / 64) * std::int64_t{64 + tile.warpgroup_n};
  const std::int64_t shared = reads + tile.m() + tile.n();
  const std::int64_t stage = power > shared ? power : shared;
  // Rounding out and storing a tile: 12 elements a cycle, fitted likewise.
  const std::int64_t turn = std::int64_t{tile.m()} * tile.n() / 12;
  // Partners in K wait for each other and exchange half of their sums.
  const std::int64_t exchange = tile.split_k == 1 ? 0 : 3'000;
  const int stages = ceil_div(ceil_div(k, Tile::k()), tile.split_k);
  return waves(tile, m, n, sms) * (stages * stage + turn + exchange);
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
