// SPDX-License-Identifier: Apache-2.0
// The two ends of the operand pipeline: one warp that keeps the copy engine loading stages, and
// two warpgroups that multiply them. A stage is free when every consumer of every CTA that shares
// its loads has said so.
#pragma once

#include "kernels/sm90/layout.cuh"
#include "kernels/sm90/wgmma.cuh"

namespace weft::kernels {

/// The stages of K that a CTA sums: all, or its part.
struct Depth {
  int begin;
  int end;
};

/// Returns the part of `k_blocks` stages that CTA `rank` of a cluster sums; `spread` says which of the parts
/// that are spread over clusters. The last of those has more to do, because it waits for the others,
/// which meanwhile write their sums.
template <int kTile>
__device__ __forceinline__ Depth depth_of(int k_blocks, std::uint32_t rank, int spread) {
  using L = Layout<kTile>;
  if constexpr (L::spread_k > 1) {
    constexpr int head_start = 2;  // stages that writing and reading the sums of a tile takes
    const auto begin_of = [&](int part) {
      return part == 0 ? 0 : max(0, k_blocks * part / L::spread_k - head_start);
    };
    return {begin_of(spread), spread + 1 == L::spread_k ? k_blocks : begin_of(spread + 1)};
  } else if constexpr (L::split_k == 1) {
    return {0, k_blocks};
  } else {
    const int half = (k_blocks + 1) / 2;
    return member_of<kTile>(rank).part == 0 ? Depth{0, half} : Depth{half, k_blocks};
  }
}

/// Begins a stage: once it is free, its barrier expects all bytes of it.
template <int kTile>
__device__ __forceinline__ void begin_stage(std::uint32_t shared, const Ring& ring) {
  using L = Layout<kTile>;
  ptx::barrier_wait<false>(shared + L::empty_at + 8 * ring.index, ring.parity ^ 1);
  ptx::barrier_expect(shared + L::full_at + 8 * ring.index, L::stage_bytes);
}

/// Loads this CTA's part of stage `block` of X, whose tile begins at `row`.
template <int kTile>
__device__ __forceinline__ void load_x(std::uint32_t shared, const CUtensorMap* x, int row,
                                       int block, std::uint32_t rank, const Ring& ring) {
  using L = Layout<kTile>;
  constexpr int rows = L::m / L::cluster_n;
  const auto [part, down, across] = member_of<kTile>(rank);
  const std::uint32_t full = shared + L::full_at + 8 * ring.index;
  const std::uint32_t to = shared + ring.index * L::stage_bytes + across * rows * L::row_bytes;
  if constexpr (L::cluster_n == 1) {
    ptx::load_box(to, x, full, block * L::k, row);
  } else {
    const unsigned mask = ((1u << L::cluster_n) - 1) << (part * L::sharing + down * L::cluster_n);
    ptx::load_box_multicast(to, x, full, block * L::k, row + across * rows,
                            static_cast<std::uint16_t>(mask));
  }
}

/// Likewise of W, whose tile begins at row `column`.
template <int kTile>
__device__ __forceinline__ void load_w(std::uint32_t shared, const CUtensorMap* w, int column,
                                       int block, std::uint32_t rank, const Ring& ring) {
  using L = Layout<kTile>;
  constexpr int rows = L::n / L::cluster_m;
  const auto [part, down, across] = member_of<kTile>(rank);
  const std::uint32_t full = shared + L::full_at + 8 * ring.index;
  const std::uint32_t to =
      shared + ring.index * L::stage_bytes + L::x_bytes + down * rows * L::row_bytes;
  if constexpr (L::cluster_m == 1) {
    ptx::load_box(to, w, full, block * L::k, column);
  } else {
    unsigned mask = 0;
    for (int i = 0; i < L::cluster_m; ++i) mask |= 1u << (i * L::cluster_n);
    ptx::load_box_multicast(to, w, full, block * L::k, column + down * rows,
                            static_cast<std::uint16_t>(mask << (part * L::sharing + across)));
  }
}

/// Begins the first `lead` stages of a tile with W alone, for a tile whose X may not be there yet.
template <int kTile>
__device__ __forceinline__ void load_w_ahead(std::uint32_t shared, const CUtensorMap* w, int column,
                                             Depth depth, int lead, std::uint32_t rank, Ring ring) {
  for (int block = depth.begin; block < depth.begin + lead; ++block) {
    begin_stage<kTile>(shared, ring);
    load_w<kTile>(shared, w, column, block, rank, ring);
    ring.template advance<Layout<kTile>::stages>();
  }
}

/// Loads the operand stages of one tile whose X rows begin at `row` and W rows at `column`; the first
/// `lead` have begun. Calls `middle` when as many stages as fit are on their way, or all. By the whole
/// producer warp, as everything that loads.
template <int kTile, class Middle>
__device__ __forceinline__ void load_tile(std::uint32_t shared, const CUtensorMap* x,
                                          const CUtensorMap* w, int row, int column, Depth depth,
                                          int lead, std::uint32_t rank, Ring& ring,
                                          const Middle& middle) {
  using L = Layout<kTile>;
  int block = depth.begin;
  for (; block < depth.begin + lead; ++block) {
    load_x<kTile>(shared, x, row, block, rank, ring);
    ring.template advance<L::stages>();
  }
  const auto load_until = [&](int end) {
    for (; block < end; ++block) {
      begin_stage<kTile>(shared, ring);
      load_x<kTile>(shared, x, row, block, rank, ring);
      load_w<kTile>(shared, w, column, block, rank, ring);
      ring.template advance<L::stages>();
    }
  };
  load_until(min(depth.begin + L::stages, depth.end));
  middle();
  load_until(depth.end);
}

/// Says that this warpgroup is done with a stage, to every CTA that loads into it. `thread` counts
/// within the warpgroup.
template <int kTile>
__device__ __forceinline__ void free_stage(std::uint32_t shared, std::uint32_t thread,
                                           std::uint32_t index, std::uint32_t rank) {
  using L = Layout<kTile>;
  const std::uint32_t empty = shared + L::empty_at + 8 * index;
  if constexpr (L::sharing == 1) {
    if (thread == 0) ptx::barrier_arrive(empty);
  } else {
    const std::uint32_t first = rank / L::sharing * L::sharing;
    if (thread < L::sharing && (L::partners(static_cast<int>(rank - first)) >> thread & 1))
      ptx::barrier_arrive_at<false>(empty, first + thread);
  }
}

/// Waits for this warpgroup's turn to multiply. Without turns a warpgroup that waits for a stage two
/// rounds ahead could take the parity of an earlier round for its own.
template <int kTile>
__device__ __forceinline__ void wait_turn(std::uint32_t shared, int warpgroup,
                                          std::uint32_t& parity) {
  ptx::barrier_wait<false>(shared + Layout<kTile>::turn_at + 8 * warpgroup, parity);
  parity ^= 1;
}

/// Hands the turn to the next warpgroup.
template <int kTile>
__device__ __forceinline__ void give_turn(std::uint32_t shared, std::uint32_t thread,
                                          int warpgroup) {
  using L = Layout<kTile>;
  if (thread == 0) ptx::barrier_arrive(shared + L::turn_at + 8 * ((warpgroup + 1) % L::warpgroups));
}

/// Multiplies the stages of one tile into `sums`, keeping one group of multiplications in flight. What lies
/// between the last multiplication of a stage and the first of the next one is time of the tensor
/// cores, so the next stage's barrier is looked at beforehand, and the turn is handed over after the
/// loop. `thread` counts within the warpgroup.
template <int kTile>
__device__ __forceinline__ void multiply_tile(
    float (&sums)[Layout<kTile>::blocks][Layout<kTile>::warpgroup_n / 2], std::uint32_t shared,
    int warpgroup, std::uint32_t thread, Depth depth, std::uint32_t rank, Ring& ring) {
  using L = Layout<kTile>;
  const int x_row = L::by_rows ? warpgroup * L::warpgroup_m : 0;
  const int w_row = L::by_columns ? warpgroup * L::warpgroup_n : 0;
  const std::uint64_t x_base = wgmma::descriptor(shared + x_row * L::row_bytes);
  const std::uint64_t w_base = wgmma::descriptor(shared + L::x_bytes + w_row * L::row_bytes);
  if (L::tile.parts() > 1 && depth.begin == depth.end) {
#pragma unroll
    for (int rows = 0; rows < L::blocks; ++rows)
#pragma unroll
      for (int i = 0; i < L::warpgroup_n / 2; ++i) sums[rows][i] = 0;
    return;
  }
  std::uint32_t before = 0;
  bool full = ptx::barrier_done(shared + L::full_at + 8 * ring.index, ring.parity);
  for (int block = depth.begin; block < depth.end; ++block) {
    if (!full) ptx::barrier_wait<false>(shared + L::full_at + 8 * ring.index, ring.parity);
    const std::uint32_t now = ring.index;
    const std::uint64_t stage = now * (L::stage_bytes >> 4);
    ring.template advance<L::stages>();
    wgmma::fence();
#pragma unroll
    for (int step = 0; step < L::k / 16; ++step) {
      if (step == L::k / 32)
        full = ptx::barrier_done(shared + L::full_at + 8 * ring.index, ring.parity);
#pragma unroll
      for (int rows = 0; rows < L::blocks; ++rows) {
        const std::uint64_t x = x_base + stage + 2 * step + (rows * 64 * L::row_bytes >> 4);
        wgmma::Step<L::warpgroup_n>::run(sums[rows], x, w_base + stage + 2 * step,
                                         block > depth.begin || step > 0);
      }
    }
    wgmma::commit();
    wgmma::wait<1>();
    if (block > depth.begin) free_stage<kTile>(shared, thread, before, rank);
    before = now;
  }
  // Every stage of this tile has been seen full: the next warpgroup's begin after it.
  if constexpr (L::turns) give_turn<kTile>(shared, thread, warpgroup);
  wgmma::wait<0>();
  free_stage<kTile>(shared, thread, before, rank);
}

}  // namespace weft::kernels
