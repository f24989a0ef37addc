// SPDX-License-Identifier: Apache-2.0
// What a GEMM costs, from its tiles up: C[M,N] = A[M,K] x B[K,N].
//
//   tiles   = ceil(M/tm) ceil(N/tn) split,  waves = ceil(tiles / resident CTAs)
//   step    = | matrix, | L2, latency, HBM |_4 |_8 : the greatest, rounded where two meet
//     matrix  = 2 tm tn tk / (matrix rate of an SM * efficiency) + issue
//     L2      = ((tm/cn + tn/cm) tk bytes * CTAs + what HBM brings in) / L2 rate
//     latency = load latency / stages
//     HBM     = HBM bytes of the product / HBM rate / (waves * steps)
//     L2 of our kernels + overhang_row * rows of the tile beyond the edge
//   tile    = prologue + ceil(K / (tk split)) step + epilogue_exposed * output store at an SM's HBM share
//   time    = start + waves * tile / clock + split-K reduction
//   clock   = 1 - (1 - loaded) * (share of the time that the matrix units are busy)^exponent
//     loaded  = fresh until the power controller answers, low while it does, then sustained; exponents are
//               the answer's, then the sustained clock's
//   start   + drain * store of the last tile at an SM's HBM share
//
// A kernel fills waves, so time steps with ceil(tiles/SMs) and does not scale with the SM count.
// HBM bytes follow from the tile order: a wave is walked as a block as square as it can be made,
// and what the L2 keeps is not read again. Where a profile corrects a kernel, its multiplications and
// loads from the L2 take a factor, and its prologue and start are its own. Kernels whose consumers take
// turns hide the epilogue of all tiles but the last. Where the profile has a grid of measured rows for N, K
// and the SM count, the model only carries the ratio measured over modelled from row to row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/profile/profile.hpp"
#include "sim/program.hpp"

namespace weft::model {

struct GemmProblem {
  std::int64_t m = 0, n = 0, k = 0;
  DType input = DType::bf16;
  DType output = DType::bf16;
  GemmLibrary library = GemmLibrary::cublaslt;
  /// Whether the device has been busy for so long that its power limit sets the clock.
  bool power_limited = false;
  /// Whether it follows others at once, so that the device's power controller has answered before.
  bool follows_others = false;
  /// Whether the one before it read the same W, which the L2 may have still.
  bool weights_there = false;
  friend bool operator==(const GemmProblem&, const GemmProblem&) = default;
};

/// The SMs that a kernel may use, by GPC: a cluster must fit inside one.
struct SmBudget {
  std::vector<int> sms_per_gpc;
  std::int64_t most = 0;  ///< that the kernel may fill, wherever they are; 0: all
  /// Parts of one device that work at the same time where these SMs are one of them; 0: they are no part.
  std::int64_t parts_at_work = 0;
  /// All SMs of the pool, GPCs unknown: one group.
  static SmBudget of(std::int64_t sms) { return {{static_cast<int>(sms)}, 0, 0}; }
  /// `sms` of a profile's device, by GPC where it knows them.
  static SmBudget of(const GpuFigures& gpu, std::int64_t sms);
  [[nodiscard]] std::int64_t sms() const;
  /// Whether these are some of a device's SMs, cut off from the others.
  [[nodiscard]] bool is_part() const { return parts_at_work > 0; }
  /// How many parts like this one share the device.
  [[nodiscard]] double sharers() const {
    return static_cast<double>(parts_at_work > 0 ? parts_at_work : 1);
  }
  /// CTAs resident at one CTA an SM when they come in clusters of `cluster`.
  [[nodiscard]] std::int64_t resident_ctas(std::int64_t cluster) const;
  friend bool operator==(const SmBudget&, const SmBudget&) = default;
};

struct GemmCost {
  GemmTile kernel;
  std::int64_t split_k = 1;
  sim::Footprint footprint;   ///< of one CTA; they come in clusters of kernel.cluster_m * cluster_n
  std::int64_t tiles = 0;     ///< work items, split-K parts counted
  std::int64_t grid = 0;      ///< CTAs launched
  std::int64_t resident = 0;  ///< CTAs at a time
  std::int64_t waves = 0;     ///< ceil(tiles / resident)
  std::int64_t k_steps = 0;   ///< of one tile
  Duration start;             ///< launch alone: first CTA in, last CTA out
  Duration prologue, main_loop, epilogue;  ///< of one tile on its SM, at the clock it will run at
  Duration reduction;                      ///< of split-K parts, after the last tile
  Bytes hbm_per_tile, l2_per_tile;
  bool weights_kept = false;                ///< the L2 has W from the product before
  double clock = 1;                         ///< over boost clock, its mean
  Duration time;                            ///< alone, launch included
  SourceKind source = SourceKind::assumed;  ///< the weakest constant that went in
  std::string choice;                       ///< why this kernel, in one sentence

  /// SM time of one tile: what a tile range of a simulated kernel carries.
  [[nodiscard]] Duration tile_time() const { return prologue + main_loop + epilogue; }
};

/// ceil(tiles / sms): the wave quantisation of every tiled kernel.
constexpr std::int64_t waves_of(std::int64_t tiles, std::int64_t sms) {
  return divide_up(tiles, sms);
}

/// The cost of `problem` by one given kernel; throws MissingConstant if the profile has no GEMM
/// constants.
[[nodiscard]] GemmCost gemm_cost(const Profile& profile, const GemmProblem& problem,
                                 const SmBudget& budget, const GemmTile& kernel,
                                 std::int64_t split_k = 1);

/// The kernel that the problem's library is modelled to choose. Ours are chosen as they choose themselves. On a
/// measured row of its N, K and SM count the time is the measured one; elsewhere it is the least cost over what
/// the library took for the measured products most like it, or, without such, over its tile table and split-K
/// counts {1, 2, 4, 8}; first of equals.
[[nodiscard]] GemmCost gemm_cost(const Profile& profile, const GemmProblem& problem,
                                 const SmBudget& budget);

/// The tiles that a library can choose from, as a profile or kernels/shapes lists them.
[[nodiscard]] std::vector<GemmTile> gemm_tiles(const Profile& profile, GemmLibrary library);

}  // namespace weft::model
