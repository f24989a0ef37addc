// SPDX-License-Identifier: Apache-2.0
// One persistent kernel for every tile and mode: the roles of a CTA, and who runs them. Warpgroup 0
// feeds and drains: warp 0 loads and draws tiles from the counter, warp i stores for consumer
// warpgroup i - 1. The other warpgroups multiply. The first CTAs of the grid may be communication
// CTAs.
#pragma once

#include "kernels/sm90/epilogue.cuh"
#include "kernels/sm90/mainloop.cuh"
#include "kernels/sm90/spread.cuh"
#include "kernels/sm90/wait.cuh"

namespace weft::kernels {

/// What every mode's parameters begin with.
struct CoreParams {
  CUtensorMap x;
  CUtensorMap w;
  int m;
  int n;
  int k_blocks;
  int communication_ctas;
  TileOrder order;
  Coordination coordination;
  PartialSums partials;
};

/// Sets up the barriers of a CTA. By one thread.
template <int kTile>
__device__ __forceinline__ void init_barriers(std::uint32_t shared) {
  using L = Layout<kTile>;
  for (int i = 0; i < L::stages; ++i) {
    ptx::barrier_init(shared + L::full_at + 8 * i, 1);
    ptx::barrier_init(shared + L::empty_at + 8 * i, L::readers * L::partner_count);
  }
  for (int i = 0; i < L::warpgroups * L::slots; ++i) {
    ptx::barrier_init(shared + L::slot_full_at + 8 * i, 4);
    ptx::barrier_init(shared + L::slot_empty_at + 8 * i, 1);
    ptx::barrier_init(shared + L::slot_loaded_at + 8 * i, 1);
  }
  for (int i = 0; i < TileQueue::depth; ++i) {
    ptx::barrier_init(shared + L::queue_full_at + 8 * i, 1);
    ptx::barrier_init(shared + L::queue_empty_at + 8 * i,
                      L::cluster * TileQueue::readers(L::warpgroups));
  }
  for (int i = 0; L::split_k > 1 && i < L::warpgroups; ++i) {
    ptx::barrier_init(shared + L::partner_full_at + 8 * i, 128);
    ptx::barrier_init(shared + L::partner_empty_at + 8 * i, 128);
  }
  for (int i = 0; L::turns && i < L::warpgroups; ++i)
    ptx::barrier_init(shared + L::turn_at + 8 * i, 1);
  ptx::fence_barrier_init();
}

/// Returns whether the tile of this turn is the warpgroup's, and moves on to the next turn.
template <int kWarpgroups>
__device__ __forceinline__ bool takes(int& turn, int warpgroup) {
  const bool mine = turn == warpgroup;
  turn = turn + 1 == kWarpgroups ? 0 : turn + 1;
  return mine;
}

/// The communication CTAs of a mode in a launch of their own.
inline constexpr int communication_threads = 384;
template <class Mode>
__global__ void __launch_bounds__(communication_threads, 1)
    communication_kernel(const __grid_constant__ typename Mode::Params params) {
  extern __shared__ __align__(1024) std::uint8_t dynamic_shared[];
  Mode::template communicate<communication_threads>(params, ptx::shared(dynamic_shared));
  __syncthreads();
  if (threadIdx.x == 0) leave(params.core.coordination);
}

template <int kTile, class Mode>
__global__ void __launch_bounds__(shapes::tiles[kTile].threads(), 1)
    tile_kernel(const __grid_constant__ typename Mode::Params params) {
  using L = Layout<kTile>;
  extern __shared__ __align__(1024) std::uint8_t dynamic_shared[];
  const CoreParams& core = params.core;
  if (static_cast<int>(blockIdx.x) < core.communication_ctas) {
    Mode::template communicate<L::threads>(params, ptx::shared(dynamic_shared));
    __syncthreads();
    if (threadIdx.x == 0) leave(core.coordination);
    return;
  }

  const std::uint32_t shared = ptx::shared(dynamic_shared);
  // By way of a shuffle, after which the compiler knows that a warp has one role.
  const int warp = __shfl_sync(0xFFFF'FFFFu, static_cast<int>(threadIdx.x) / 32, 0);
  const std::uint32_t rank = L::cluster > 1 ? ptx::cluster_rank() : 0;
  const int cluster = (static_cast<int>(blockIdx.x) - core.communication_ctas) / L::cluster;
  if (threadIdx.x == 0) {
    ptx::prefetch_map(&core.x);
    ptx::prefetch_map(&core.w);
    init_barriers<kTile>(shared);
  }
  const TileQueue queue{shared + L::queue_full_at, shared + L::queue_empty_at,
                        shared + L::queue_entries_at};
  const int end = end_of(core.order);
  __syncwarp();
  if constexpr (L::cluster > 1) ptx::cluster_arrive();
  // What is asked of memory at first comes while the cluster starts: the producer's first tile, and, in a
  // warp that has nothing to store yet, the flags that the first rows of X may hang on.
  constexpr int looker = 3;
  typename Mode::Loader loader;
  TileDraw<L::cluster> draw(queue, core.coordination.control);
  const bool draws = core.order.counter && rank == 0 && threadIdx.x == 0;
  if (draws) draw.ask();
  if constexpr (Mode::looks)
    if (warp == looker) loader.look(params, shared + L::verdict_at);
  __syncwarp();
  if constexpr (L::cluster > 1)
    ptx::cluster_wait();
  else
    __syncthreads();

  TileFeed<L::cluster> feed(core.order, queue, cluster);
  const auto [part, down, across] = member_of<kTile>(rank);
  // From a tile's first row to the end of the rows that it may store.
  const auto tile_rows = [&, down = down](TilePlace place) {
    if constexpr (Mode::in_turns)
      if (const int tiles = core.order.owner_tiles; tiles > 0) {
        const int owner = place.row / tiles;
        const int first = owner * core.order.owner_rows;
        return shapes::Rows{first + ((place.row - owner * tiles) * L::cluster_m + down) * L::m,
                            min(core.m, first + core.order.owner_rows)};
      }
    return shapes::Rows{(place.row * L::cluster_m + down) * L::m, core.m};
  };
  const auto tile_column = [&, across = across](TilePlace place) {
    return (place.column * L::cluster_n + across) * L::n;
  };
  const auto depth_at = [&](int index) {
    return depth_of<kTile>(core.k_blocks, rank, index % L::spread_k);
  };

  if (warp < 4) {
    ptx::give_registers<40>();
    if (warp == 0) {
      Ring ring;
      bool ahead = Mode::looks;
      if (draws) draw.publish();
      for (int index = feed.template next<true>(); index < end;
           index = feed.template next<true>()) {
        if (draws) draw.ask();
        const TilePlace place = place_of<Mode::in_turns>(core.order, index / L::spread_k);
        const Depth depth = depth_at(index);
        const int row = tile_rows(place).begin;
        const int column = tile_column(place);
        const int lead = ahead ? min(L::stages, depth.end - depth.begin) : 0;
        // The first stages are free: W need not wait for the rows of X.
        load_w_ahead<kTile>(shared, &core.w, column, depth, lead, rank, ring);
        if constexpr (Mode::looks)
          if (ahead) loader.hear(shared + L::verdict_at);
        Mode::wait_rows(params, loader, row, row + L::m);
        __syncwarp();
        load_tile<kTile>(shared, &core.x, &core.w, row, column, depth, lead, rank, ring, [&] {
          if (draws) draw.publish();
          __syncwarp();
        });
        ahead = false;
      }
      if constexpr (Mode::looks)
        if (ahead) loader.hear(shared + L::verdict_at);
    } else if (warp <= L::warpgroups) {
      const int warpgroup = warp - 1;
      const bool leader = ptx::elected();
      typename Mode::Sender sender;
      Ring ring;
      int turn = 0;
      for (int index = feed.next(); index < end; index = feed.next()) {
        if (L::turns && !takes<L::warpgroups>(turn, warpgroup)) continue;
        if (!stores_tile<kTile>(index)) continue;
        const TilePlace place = place_of<Mode::in_turns>(core.order, index / L::spread_k);
        shapes::Rows rows = tile_rows(place);
        rows.begin += L::by_rows ? warpgroup * L::warpgroup_m : 0;
        const int column = tile_column(place) + (L::by_columns ? warpgroup * L::warpgroup_n : 0) +
                           part * (L::warpgroup_n / L::split_k);
        const bool weakened = core.coordination.flag_before_data;
        if (weakened && leader) Mode::template finish<kTile>(params, rows, tile_column(place));
        bool sent = false;
        if constexpr (Mode::adds)
          if (const int addends = Mode::addends(params, index); addends > 0) {
            send_sums<kTile, Mode>(params, shared, warpgroup, rows, column, addends, leader, ring,
                                   sender);
            sent = true;
          }
        if (!sent)
          send_tile<kTile, Mode>(params, shared, warpgroup, rows, column, leader, ring, sender);
        if (!weakened && leader) Mode::template finish<kTile>(params, rows, tile_column(place));
      }
      if constexpr (Mode::adds)
        if (warpgroup == 0) Mode::end(params);
    }
  } else {
    ptx::take_registers<L::tile.consumer_registers()>();
    const int warpgroup = warp / 4 - 1;
    const std::uint32_t thread = ptx::thread_index() % 128;
    Ring stages;
    Ring slots;
    [[maybe_unused]] std::uint32_t exchanges = 0;
    [[maybe_unused]] std::uint32_t loads = 0;  ///< of each slot so far, modulo two
    float sums[L::blocks][L::warpgroup_n / 2];
    int turn = 0;
    // The first turn is the first warpgroup's without anybody having handed it over.
    [[maybe_unused]] std::uint32_t turns = warpgroup == 0 ? 1 : 0;
    for (int index = feed.next(); index < end; index = feed.next()) {
      if constexpr (L::turns) {
        if (!takes<L::warpgroups>(turn, warpgroup)) {
          stages.template skip<L::stages>(static_cast<std::uint32_t>(core.k_blocks));
          continue;
        }
        wait_turn<kTile>(shared, warpgroup, turns);
      }
      multiply_tile<kTile>(sums, shared, warpgroup, thread, depth_at(index), rank, stages);
      if constexpr (L::spread_k > 1) {
        const SpreadPlace where{index, static_cast<int>(rank), warpgroup, thread};
        if (!stores_tile<kTile>(index)) {
          leave_sums<kTile>(sums, core.partials, core.coordination, where);
          continue;
        }
        add_left_sums<kTile>(sums, core.partials, core.coordination, where);
      }
      int addends = 0;
      if constexpr (Mode::adds) addends = Mode::addends(params, index);
      if constexpr (L::split_k == 1) {
        round_out<kTile, 0, Mode::adds>(sums, shared, warpgroup, addends, slots, loads);
      } else if (part == 0) {
        exchange_sums<kTile, 0>(sums, shared, warpgroup, rank + L::sharing, exchanges);
        round_out<kTile, 0, Mode::adds>(sums, shared, warpgroup, addends, slots, loads);
      } else {
        exchange_sums<kTile, 1>(sums, shared, warpgroup, rank - L::sharing, exchanges);
        round_out<kTile, 1, Mode::adds>(sums, shared, warpgroup, addends, slots, loads);
      }
    }
  }

  __syncwarp();
  // Partners may still write to this CTA's barriers and stages.
  if constexpr (L::cluster > 1)
    ptx::cluster_sync();
  else
    __syncthreads();
  if (threadIdx.x == 0) leave(core.coordination);
}

}  // namespace weft::kernels
