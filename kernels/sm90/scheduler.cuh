// SPDX-License-Identifier: Apache-2.0
// Which tile a cluster computes next. The order walks groups of rows, every column of a group
// before the next group, from a first row on and around; hand-out is by fixed shares or by a
// counter.
#pragma once

#include "kernels/shapes/table.hpp"
#include "kernels/sm90/control.cuh"
#include "kernels/sm90/ptx.cuh"

namespace weft::kernels {

/// Tile order and hand-out of one launch, in units of a cluster's tiles.
struct TileOrder {
  int rows;          ///< cluster tiles from top to bottom
  int columns;       ///< cluster tiles from left to right
  int first;         ///< the row of cluster tiles to begin with
  int group;         ///< rows of cluster tiles walked together
  int parts;         ///< parts of K that follow each other in the order, each a tile of its own
  int clusters;      ///< clusters that compute
  bool counter;      ///< hand out by the counter
  int owners;        ///< whose groups of rows take turns, with kInTurns; 1: one owner after another
  int owner_groups;  ///< groups of rows of an owner
  /// Rows of cluster tiles of each owner where every owner's rows begin a tile of their own, and how many rows it
  /// owns; 0: tiles are cut from all rows together.
  int owner_tiles;
  int owner_rows;
};

/// The place of a cluster's tiles, in units of a cluster's tiles.
struct TilePlace {
  int row;
  int column;
};

/// Returns the number of indices of the order.
__device__ __forceinline__ int end_of(const TileOrder& order) {
  return order.rows * order.columns * order.parts;
}

/// Returns the place of tile `index` of the order, parts of K apart.
template <bool kInTurns>
__device__ __forceinline__ TilePlace place_of(const TileOrder& order, int index) {
  int rows = order.rows;
  int begin = order.first;
  if constexpr (kInTurns)
    if (order.owner_tiles > 0) {
      // Groups of one owner only: no tile comes before those of the owners before it.
      const int owner = index / (order.owner_tiles * order.columns);
      rows = order.owner_tiles;
      begin += owner * rows;
      index -= owner * rows * order.columns;
    }
  const int per_group = order.group * order.columns;
  int group = index / per_group;
  const int within = index - group * per_group;
  if constexpr (kInTurns)
    if (order.owners > 1) group = group % order.owners * order.owner_groups + group / order.owners;
  const int height = min(order.group, rows - group * order.group);
  const int column = within / height;
  int row = group * order.group + within - column * height + begin;
  if (row >= order.rows) row -= order.rows;
  return {row, column};
}

/// The queue through which a counter's tiles reach every role of every CTA of a cluster.
struct TileQueue {
  static constexpr int depth = 4;
  /// Warps of a CTA that read an entry: the producer, and a store warp and four more a warpgroup.
  static constexpr int readers(int warpgroups) { return 1 + 5 * warpgroups; }
  std::uint32_t full;     ///< shared address of `depth` barriers, one arrival
  std::uint32_t empty;    ///< likewise; those of CTA 0 of the cluster count the readers of all
  std::uint32_t entries;  ///< shared address of `depth` words
};

/// One role's view of the tiles of its cluster. `kCluster` CTAs share a cluster.
template <int kCluster>
class TileFeed {
 public:
  __device__ __forceinline__ TileFeed(const TileOrder& order, const TileQueue& queue, int cluster)
      : order_(order), queue_(queue), next_(cluster), round_(0) {}

  /// Returns the next index; one that is past the order's end says that there is no more.
  /// The producer of a cluster also arms the queue. By a whole warp.
  template <bool kArms = false>
  __device__ __forceinline__ int next() {
    if (!order_.counter) {
      const int index = next_;
      next_ += order_.clusters;
      return index;
    }
    const std::uint32_t slot = round_ % TileQueue::depth;
    const std::uint32_t parity = round_ / TileQueue::depth & 1;
    ++round_;
    if constexpr (kArms && kCluster > 1) ptx::barrier_expect(queue_.full + 8 * slot, 4);
    ptx::barrier_wait<(kCluster > 1)>(queue_.full + 8 * slot, parity);
    const auto index = static_cast<int>(ptx::load_word(queue_.entries + 4 * slot));
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      if constexpr (kCluster > 1)
        ptx::barrier_arrive_at<true>(queue_.empty + 8 * slot, 0);
      else
        ptx::barrier_arrive(queue_.empty + 8 * slot);
    }
    return __shfl_sync(0xFFFF'FFFFu, index, 0);
  }

 private:
  const TileOrder& order_;
  TileQueue queue_;
  int next_;
  std::uint32_t round_;
};

/// Draws tiles from the counter, one ahead, and hands them to every CTA of the cluster. Used by the
/// producer of CTA 0.
template <int kCluster>
class TileDraw {
 public:
  __device__ __forceinline__ TileDraw(const TileQueue& queue, Control* control)
      : queue_(queue), control_(control), drawn_(0), round_(0) {}

  /// Asks for a tile; the answer is needed only by the next publish.
  __device__ __forceinline__ void ask() { drawn_ = atomicAdd(&control_->next_tile, 1u); }

  /// Hands the tile to every reader.
  __device__ __forceinline__ void publish() {
    const std::uint32_t slot = round_ % TileQueue::depth;
    if (round_ >= TileQueue::depth)
      ptx::barrier_wait<(kCluster > 1)>(queue_.empty + 8 * slot,
                                        (round_ / TileQueue::depth & 1) ^ 1);
    if constexpr (kCluster == 1) {
      ptx::store_word(queue_.entries + 4 * slot, drawn_);
      ptx::barrier_arrive(queue_.full + 8 * slot);
    } else {
      for (std::uint32_t cta = 0; cta < kCluster; ++cta)
        ptx::store_word_at(queue_.entries + 4 * slot, queue_.full + 8 * slot, drawn_, cta);
    }
    ++round_;
  }

 private:
  TileQueue queue_;
  Control* control_;
  std::uint32_t drawn_;
  std::uint32_t round_;
};

}  // namespace weft::kernels
