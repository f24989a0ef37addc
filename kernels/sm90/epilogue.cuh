// SPDX-License-Identifier: Apache-2.0
// From registers to memory: consumers round their sums into store slots of 64 rows; a store thread
// for each consumer warpgroup sends the slots off with the copy engine and, where the mode asks for
// it, posts flags once the stores are complete, so that no consumer waits for a link.
#pragma once

#include "kernels/sm90/layout.cuh"

namespace weft::kernels {

/// Adds the partner's sums of the half of the columns that this CTA stores, and gives the partner those
/// of the other half. Half 0 is the left one, that of the first part of K.
template <int kTile, int kHalf>
__device__ __forceinline__ void exchange_sums(
    float (&sums)[Layout<kTile>::blocks][Layout<kTile>::warpgroup_n / 2], std::uint32_t shared,
    int warpgroup, std::uint32_t partner, std::uint32_t& parity) {
  using L = Layout<kTile>;
  constexpr int count = L::warpgroup_n / 4;  // sums of a thread in a half
  constexpr int keeps = kHalf * count;
  constexpr int gives = (1 - kHalf) * count;
  const std::uint32_t buffer =
      shared + L::exchange_at + warpgroup * L::exchange_bytes + 16 * (threadIdx.x % 128);
  const std::uint32_t full = shared + L::partner_full_at + 8 * warpgroup;
  const std::uint32_t empty = shared + L::partner_empty_at + 8 * warpgroup;
  ptx::barrier_wait<true>(empty, parity ^ 1);
  const std::uint32_t there = ptx::address_at(buffer, partner);
#pragma unroll
  for (int i = 0; i < count; i += 4)
    ptx::store_floats_at(there + 512 * i, sums[0][gives + i], sums[0][gives + i + 1],
                         sums[0][gives + i + 2], sums[0][gives + i + 3]);
  ptx::barrier_arrive_at<true>(full, partner);
  ptx::barrier_wait<true>(full, parity);
#pragma unroll
  for (int i = 0; i < count; i += 4) {
    const float4 more = ptx::load_floats(buffer + 512 * i);
    sums[0][keeps + i] += more.x;
    sums[0][keeps + i + 1] += more.y;
    sums[0][keeps + i + 2] += more.z;
    sums[0][keeps + i + 3] += more.w;
  }
  ptx::barrier_arrive_at<true>(empty, partner);
  parity ^= 1;
}

/// Rounds the sums of one tile to bf16, slot by slot; of half `kHalf` of the columns where K is split.
template <int kTile, int kHalf>
__device__ __forceinline__ void round_out(
    const float (&sums)[Layout<kTile>::blocks][Layout<kTile>::warpgroup_n / 2],
    std::uint32_t shared, int warpgroup, Ring& ring) {
  using L = Layout<kTile>;
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t row = threadIdx.x % 128 / 32 * 16 + lane % 16;
  const std::uint32_t swizzle = slot_swizzle<L::slot_columns>(row);
#pragma unroll
  for (int rows = 0; rows < L::blocks; ++rows) {
#pragma unroll
    for (int piece = 0; piece < L::pieces; ++piece) {
      const std::uint32_t slot = warpgroup * L::slots + ring.index;
      ptx::barrier_wait<false>(shared + L::slot_empty_at + 8 * slot, ring.parity ^ 1);
      const std::uint32_t at =
          shared + L::slots_at + slot * L::slot_bytes + row * (2 * L::slot_columns);
#pragma unroll
      for (int pair = 0; pair < L::slot_columns / 16; ++pair) {
        const float* d =
            &sums[rows]
                 [(kHalf * L::pieces * L::slot_columns + piece * L::slot_columns + pair * 16) / 2];
        const std::uint32_t chunk = (2 * pair + lane / 16) ^ swizzle;
        ptx::store_matrices(at + 16 * chunk, ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]),
                            ptx::pack_bf16(d[4], d[5]), ptx::pack_bf16(d[6], d[7]));
      }
      ptx::fence_shared_to_copy_engine();
      __syncwarp();
      if (lane == 0) ptx::barrier_arrive(shared + L::slot_full_at + 8 * slot);
      ring.template advance<L::slots>();
    }
  }
}

/// Sends off the slots of one tile whose warpgroup part begins at (row, column). A slot is handed
/// back when a few stores after it are on their way, so that they overlap. By one warp, `leader` is its
/// elected thread, which drives the copy engine; the others have nothing to wait for.
template <int kTile, class Mode>
__device__ __forceinline__ void send_tile(const typename Mode::Params& params, std::uint32_t shared,
                                          int warpgroup, int row, int column, bool leader,
                                          Ring& ring, typename Mode::Sender& sender) {
  using L = Layout<kTile>;
  constexpr int stores = L::blocks * L::pieces;
  constexpr int most = L::slots - 1 < stores - 1 ? L::slots - 1 : stores - 1;
  constexpr int behind = most < 4 ? most : 4;  // stores that are on their way together, but one
  const std::uint32_t empty = shared + L::slot_empty_at + 8 * warpgroup * L::slots;
  Ring oldest = ring;
  const auto hand_back = [&] {
    if (leader) ptx::barrier_arrive(empty + 8 * oldest.index);
    oldest.template advance<L::slots>();
  };
  for (int i = 0; i < stores; ++i) {
    const std::uint32_t slot = warpgroup * L::slots + ring.index;
    ptx::barrier_wait<false>(shared + L::slot_full_at + 8 * slot, ring.parity);
    Mode::template store<kTile>(params, sender, shared + L::slots_at + slot * L::slot_bytes,
                                row + 64 * (i / L::pieces),
                                column + i % L::pieces * L::slot_columns, leader);
    __syncwarp();
    ptx::commit_stores();
    if (i >= behind) {
      ptx::wait_stores_read<behind>();
      hand_back();
    }
    ring.template advance<L::slots>();
  }
  ptx::wait_stores_read<0>();
  for (int i = 0; i < behind; ++i) hand_back();
}

}  // namespace weft::kernels
