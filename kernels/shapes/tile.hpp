// SPDX-License-Identifier: Apache-2.0
// The shape of one tile kernel, and what a CTA of it occupies: two or three consumer warpgroups
// that share a tile or take turns, one warpgroup that feeds and drains them, operand stages, and store slots of
// 64 rows.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::kernels::shapes {

/// Rows of X that the tile order walks together, every column of them before the next ones, for reuse in the L2; fewer
/// where chunks have fewer. From 128 to 4,096 they differ by 1 % for [4096, 8192, 1024] on an H200 (docs/kernels.md).
inline constexpr int group_rows = 2'048;

/// How the consumer warpgroups share the work: a tile between them, one above the other or side by
/// side; or whole tiles in turns, so that one rounds out while the next multiplies.
enum class Split : std::uint8_t { rows, columns, turns };

/// One entry of the tile table.
struct Tile {
  std::string_view name;
  int warpgroup_m = 64;  ///< rows of one consumer warpgroup, a multiple of 64
  int warpgroup_n = 64;  ///< columns of one consumer warpgroup, a multiple of 16, at most 256
  int warpgroups = 2;    ///< consumer warpgroups
  Split split = Split::rows;
  int stages = 4;         ///< operand stages in shared memory
  int store_slots = 2;    ///< output slots of each consumer warpgroup
  int slot_columns = 64;  ///< columns of one slot: a multiple of 16 that divides warpgroup_n
  int cluster_m = 1;      ///< CTAs of a cluster one above the other: they share W by multicast
  int cluster_n = 1;      ///< CTAs of a cluster side by side: they share X by multicast
  int split_k = 1;        ///< parts of K, each summed by other CTAs of the cluster
  int spread_k = 1;       ///< parts of K, each summed by another cluster, through device memory

  /// Returns the rows of a tile.
  constexpr int m() const { return split == Split::rows ? warpgroups * warpgroup_m : warpgroup_m; }
  /// Returns the columns of a tile.
  constexpr int n() const {
    return split == Split::columns ? warpgroups * warpgroup_n : warpgroup_n;
  }
  /// Returns the depth of one operand stage in elements.
  static constexpr int k() { return 64; }
  /// Returns the threads of a CTA: the consumer warpgroups and the one that feeds and drains them.
  constexpr int threads() const { return 128 * (1 + warpgroups); }
  /// Returns the registers of a thread at launch: what 65,536 of an SM allow, in steps of eight.
  constexpr int thread_registers() const { return 65'536 / threads() / 8 * 8; }
  /// Returns the registers of a consumer thread once the feeding warpgroup keeps only 40.
  constexpr int consumer_registers() const {
    return ((1 + warpgroups) * thread_registers() - 40) / warpgroups / 8 * 8;
  }
  /// Returns the registers that a CTA holds.
  constexpr int registers() const { return threads() * thread_registers(); }
  /// Returns the CTAs of a cluster.
  constexpr int cluster() const { return cluster_m * cluster_n * split_k; }
  /// Returns the parts of K that CTAs sum apart.
  constexpr int parts() const { return split_k * spread_k; }
  /// Returns the bytes of one operand stage.
  constexpr int stage_bytes() const { return (m() + n()) * k() * 2; }
  /// Returns the store slots that the columns of a consumer warpgroup fill, of one of a cluster's parts of K.
  constexpr int slots_across() const { return warpgroup_n / split_k / slot_columns; }
  /// Returns the store slots that a consumer warpgroup fills with a tile.
  constexpr int slots_of_tile() const { return warpgroup_m / 64 * slots_across(); }
  /// Returns the bytes of one store slot.
  constexpr int slot_bytes() const { return 64 * slot_columns * 2; }
  /// Returns the bytes in which a consumer warpgroup receives the sums of its partner's part of K.
  constexpr int exchange_bytes() const {
    return split_k == 1 ? 0 : warpgroup_m * warpgroup_n / split_k * 4;
  }
  /// Returns the bytes kept for barriers and the tile queue.
  static constexpr int barrier_bytes() { return 1024; }
  /// Returns the dynamic shared memory of a CTA in bytes.
  constexpr int shared_bytes() const {
    return stages * stage_bytes() + warpgroups * (store_slots * slot_bytes() + exchange_bytes()) +
           barrier_bytes();
  }
  /// Returns whether the end of a tile is hidden behind the multiplication of the next.
  constexpr bool hides_turns() const { return split == Split::turns; }
  /// Returns whether the entry keeps the rules that the kernels rely on.
  constexpr bool legal() const {
    const int sums = warpgroup_m / 64 * warpgroup_n / 2;
    return (warpgroups == 2 || warpgroups == 3) && warpgroup_m % 64 == 0 && warpgroup_n % 16 == 0 &&
           warpgroup_n <= 256 && sums + 32 <= consumer_registers() && m() <= 256 && n() <= 256 &&
           stages >= 3 && store_slots >= 1 && slot_columns % 16 == 0 && slot_columns <= 128 &&
           warpgroup_n / split_k % slot_columns == 0 && cluster() <= 4 &&
           (split_k == 1 || (split_k == 2 && warpgroup_m == 64 && split == Split::rows)) &&
           (spread_k == 1 || (split_k == 1 && split != Split::turns)) &&
           m() % (8 * cluster_n) == 0 && n() % (8 * cluster_m) == 0 &&
           shared_bytes() <= shared_limit_bytes();
  }
  /// Returns the most dynamic shared memory of a CTA in bytes (CUDA C++ Programming Guide, compute
  /// capability 9.0: 227 KiB).
  static constexpr int shared_limit_bytes() { return 232'448; }
};

}  // namespace weft::kernels::shapes
