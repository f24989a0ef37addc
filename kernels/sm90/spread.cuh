// SPDX-License-Identifier: Apache-2.0
// Parts of K that other clusters sum: all but the last part of a tile leave their sums in device
// memory, where the last part waits for them and adds them in order, so that the result does not
// depend on who was first. Parts of a tile follow each other in the order of tiles, and a part waits
// only for earlier ones, which clusters that are resident have drawn.
#pragma once

#include "kernels/sm90/layout.cuh"
#include "kernels/sm90/wait.cuh"

namespace weft::kernels {

/// Where the sums of parts lie: for each part but the last of a tile, CTA of the cluster and consumer
/// warpgroup, the sums of a tile's warpgroup, and a flag that carries the number of the launch.
struct PartialSums {
  float* sums;
  Signal* flags;
};

/// Who leaves or looks for sums.
struct SpreadPlace {
  int index;  ///< of the tile's part in the order
  int cta;    ///< of the cluster
  int warpgroup;
  std::uint32_t thread;  ///< of the warpgroup
};

/// Returns whether the part with this index stores the tile.
template <int kTile>
__device__ __forceinline__ bool stores_tile(int index) {
  return index % Layout<kTile>::spread_k == Layout<kTile>::spread_k - 1;
}

/// Returns the number of what part `part` of the tile leaves.
template <int kTile>
__device__ __forceinline__ int left_by(const SpreadPlace& where, int part) {
  using L = Layout<kTile>;
  const int tile = where.index / L::spread_k * L::cluster + where.cta;
  return (tile * (L::spread_k - 1) + part) * L::warpgroups + where.warpgroup;
}

/// The sums of one thread of a warpgroup.
template <int kTile>
using Sums = float[Layout<kTile>::blocks][Layout<kTile>::warpgroup_n / 2];

/// Calls each(sum, address) for the thread's sums, four at a time, 16 bytes a thread side by side.
template <int kTile, class Each>
__device__ __forceinline__ void for_left_sums(Sums<kTile>& sums, float* all, int number,
                                              std::uint32_t thread, const Each& each) {
  using L = Layout<kTile>;
  constexpr int of_block = L::warpgroup_n / 2;
  float* at = all + std::int64_t{number} * (128 * L::blocks * of_block) + 4 * thread;
#pragma unroll
  for (int rows = 0; rows < L::blocks; ++rows)
#pragma unroll
    for (int i = 0; i < of_block; i += 4) each(&sums[rows][i], at + 128 * (rows * of_block + i));
}

/// Leaves the sums of a part. By a consumer warpgroup.
template <int kTile>
__device__ __forceinline__ void leave_sums(Sums<kTile>& sums, const PartialSums& partials,
                                           const Coordination& c, const SpreadPlace& where) {
  using L = Layout<kTile>;
  const int number = left_by<kTile>(where, where.index % L::spread_k);
  for_left_sums<kTile>(sums, partials.sums, number, where.thread,
                       [](const float* sum, float* at) { ptx::store_floats(at, sum); });
  ptx::barrier_join(1 + where.warpgroup, 128);
  if (where.thread == 0)
    ptx::store_release_on_device(partials.flags + number, c.control->launches + 1);
}

/// Adds what the other parts of the tile have left. By a consumer warpgroup.
template <int kTile>
__device__ __forceinline__ void add_left_sums(Sums<kTile>& sums, const PartialSums& partials,
                                              const Coordination& c, const SpreadPlace& where) {
  using L = Layout<kTile>;
#pragma unroll 1
  for (int part = 0; part + 1 < L::spread_k; ++part) {
    const int number = left_by<kTile>(where, part);
    if (where.thread == 0)
      wait_for(c, partials.flags + number, c.control->launches + 1, WaitKind::part_of_depth, c.rank,
               number);
    ptx::barrier_join(1 + where.warpgroup, 128);
    for_left_sums<kTile>(sums, partials.sums, number, where.thread, [](float* sum, float* at) {
      const float4 more = ptx::load_floats_from_l2(at);
      sum[0] += more.x;
      sum[1] += more.y;
      sum[2] += more.z;
      sum[3] += more.w;
    });
  }
}

}  // namespace weft::kernels
