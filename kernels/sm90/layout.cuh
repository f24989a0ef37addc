// SPDX-License-Identifier: Apache-2.0
// Where a tile kernel keeps things in shared memory, and the compile-time facts of one tile.
#pragma once

#include "kernels/shapes/ownership.hpp"
#include "kernels/shapes/table.hpp"
#include "kernels/sm90/scheduler.cuh"

namespace weft::kernels {

/// The facts of entry `kTile` of the tile table, and the shared-memory offsets that follow.
template <int kTile>
struct Layout {
  static constexpr shapes::Tile tile = shapes::tiles[kTile];
  static constexpr int m = tile.m();
  static constexpr int n = tile.n();
  static constexpr int k = shapes::Tile::k();
  static constexpr bool by_rows = tile.split == shapes::Split::rows;
  static constexpr bool by_columns = tile.split == shapes::Split::columns;
  static constexpr bool turns = tile.split == shapes::Split::turns;
  static constexpr int blocks = tile.warpgroup_m / 64;  ///< of 64 rows in a consumer warpgroup
  static constexpr int warpgroup_m = tile.warpgroup_m;
  static constexpr int warpgroup_n = tile.warpgroup_n;
  static constexpr int stages = tile.stages;
  static constexpr int slots = tile.store_slots;
  static constexpr int slot_columns = tile.slot_columns;
  static constexpr int warpgroups = tile.warpgroups;
  /// Warpgroups that read an operand stage.
  static constexpr int readers = turns ? 1 : warpgroups;
  static constexpr int pieces = tile.slots_across();  ///< slots that a block of rows fills
  static constexpr int cluster_m = tile.cluster_m;
  static constexpr int cluster_n = tile.cluster_n;
  static constexpr int sharing = cluster_m * cluster_n;  ///< CTAs that multicast to each other
  static constexpr int split_k = tile.split_k;
  static constexpr int spread_k = tile.spread_k;
  static constexpr int cluster = sharing * split_k;
  static constexpr int threads = tile.threads();
  static constexpr int stage_bytes = tile.stage_bytes();
  static constexpr int slot_bytes = tile.slot_bytes();
  static constexpr int row_bytes = 2 * k;  ///< of a row of an operand stage
  static constexpr int x_bytes = m * row_bytes;
  static constexpr int shared_bytes = tile.shared_bytes();

  static constexpr int slots_at = stages * stage_bytes;
  static constexpr int exchange_bytes = tile.exchange_bytes();
  static constexpr int exchange_at = slots_at + warpgroups * slots * slot_bytes;
  static constexpr int full_at = exchange_at + warpgroups * exchange_bytes;
  static constexpr int empty_at = full_at + 8 * stages;
  static constexpr int slot_full_at = empty_at + 8 * stages;
  static constexpr int slot_empty_at = slot_full_at + 8 * warpgroups * slots;
  static constexpr int slot_loaded_at = slot_empty_at + 8 * warpgroups * slots;
  static constexpr int queue_full_at = slot_loaded_at + 8 * warpgroups * slots;
  static constexpr int queue_empty_at = queue_full_at + 8 * TileQueue::depth;
  static constexpr int queue_entries_at = queue_empty_at + 8 * TileQueue::depth;
  static constexpr int partner_full_at = queue_entries_at + 8 * TileQueue::depth;
  static constexpr int partner_empty_at = partner_full_at + 8 * warpgroups;
  static constexpr int turn_at = partner_empty_at + 8 * warpgroups;
  static constexpr int verdict_at = turn_at + 8 * warpgroups;
  static_assert(verdict_at + 8 <= shared_bytes);

  /// Of the CTAs that multicast to each other, returns those whose loads land in, or come from, number
  /// `member`: its row and column.
  static constexpr std::uint16_t partners(int member) {
    unsigned mask = 0;
    for (int i = 0; i < cluster_m; ++i)
      for (int j = 0; j < cluster_n; ++j)
        if (i == member / cluster_n || j == member % cluster_n) mask |= 1u << (i * cluster_n + j);
    return static_cast<std::uint16_t>(mask);
  }
  static constexpr int partner_count = cluster_m + cluster_n - 1;
};

/// What the index of a 16-byte piece in row `row` of a slot is exclusive-ored with: slots of 128, 64 and 32
/// bytes a row are stored under the copy engine's swizzle of that width, others as they are.
template <int kColumns>
__device__ __forceinline__ std::uint32_t slot_swizzle(std::uint32_t row) {
  if constexpr (kColumns == 64) return row % 8;
  if constexpr (kColumns == 32) return row / 2 % 4;
  if constexpr (kColumns == 16) return row / 4 % 2;
  return 0;
}

/// The place of a CTA in its cluster: members share operands, parts share a tile's K.
struct Member {
  int part;
  int down;
  int across;
};

/// Returns the place of CTA `rank` of a cluster.
template <int kTile>
__device__ __forceinline__ Member member_of(std::uint32_t rank) {
  using L = Layout<kTile>;
  const int member = static_cast<int>(rank) % L::sharing;
  return {static_cast<int>(rank) / L::sharing, member / L::cluster_n, member % L::cluster_n};
}

/// A ring of stages or slots: the index now, and how often it has come round.
struct Ring {
  std::uint32_t index = 0;
  std::uint32_t parity = 0;
  template <int kSize>
  __device__ __forceinline__ void advance() {
    if (++index == kSize) {
      index = 0;
      parity ^= 1;
    }
  }
  /// Goes on by `count` at once.
  template <int kSize>
  __device__ __forceinline__ void skip(std::uint32_t count) {
    index += count % kSize;
    parity ^= count / kSize & 1;
    if (index >= kSize) {
      index -= kSize;
      parity ^= 1;
    }
  }
};

}  // namespace weft::kernels
