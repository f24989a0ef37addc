// SPDX-License-Identifier: Apache-2.0
// Which tile a product should be computed with: the one whose waves take the fewest cycles.
//   waves  = ceil(ceil(mt / cluster_m) * ceil(nt / cluster_n) / floor(SMs / cluster))
//   cycles = waves * (ceil(K / 64) * stage_cycles + turn_cycles)
// Ignored: the clock under sustained power, HBM, and tails shared between tiles.
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

/// Returns the rounds in which `sms` SMs compute M x N, every SM holding one CTA; zero if no
/// cluster fits.
constexpr std::int64_t waves(const Tile& tile, int m, int n, int sms) {
  const std::int64_t resident = sms / tile.cluster();
  return resident == 0 ? 0 : (cluster_tiles(tile, m, n) + resident - 1) / resident;
}

/// Returns the estimated cycles of a product M x N x K on `sms` SMs; zero if no cluster fits.
constexpr std::int64_t estimated_cycles(const Tile& tile, int m, int n, int k, int sms) {
  // Dense bf16 rate of a Hopper SM: 2,048 multiply-adds a cycle (H100 datasheet, 989 TFLOP/s over
  // 132 SMs at 1.83 GHz); shared memory: 128 bytes a cycle, which narrow tiles meet first.
  const std::int64_t math = std::int64_t{tile.m()} * tile.n() * Tile::k() / 2'048;
  const std::int64_t copies = std::int64_t{tile.stage_bytes()} / 128;
  const std::int64_t operands =
      2 * (tile.warpgroup_m / 64) * std::int64_t{64 + tile.warpgroup_n} * Tile::k() * 2 / 128;
  const std::int64_t stage = math > copies + operands ? math : copies + operands;
  // Fill, drain and hand-over of one tile.
  constexpr std::int64_t turn_cycles = 2'000;
  return waves(tile, m, n, sms) * (ceil_div(k, Tile::k()) * stage + turn_cycles);
}

/// Returns the index of the tile with the fewest estimated cycles for M x N x K on `sms` SMs.
constexpr int choose_tile(int m, int n, int k, int sms) {
  int best = 0;
  std::int64_t best_cycles = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t cycles = estimated_cycles(tiles[i], m, n, k, sms);
    if (cycles == 0) continue;
    // Between equals the later, larger tile reads less memory.
    if (best_cycles == 0 || cycles <= best_cycles) {
      best = static_cast<int>(i);
      best_cycles = cycles;
    }
  }
  return best;
}

}  // namespace weft::kernels::shapes
