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

/// Adds the bf16 of a slot to the sums that are to be stored from it. `row` is the lane's address in it.
template <int kColumns>
__device__ __forceinline__ void add_slot(float* sums, std::uint32_t row, std::uint32_t swizzle) {
#pragma unroll
  for (int pair = 0; pair < kColumns / 16; ++pair) {
    const std::uint32_t chunk = (2 * pair + threadIdx.x % 32 / 16) ^ swizzle;
    const uint4 v = ptx::load_matrices(row + 16 * chunk);
    const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sums[8 * pair + 2 * i] += __uint_as_float(words[i] << 16);
      sums[8 * pair + 2 * i + 1] += __uint_as_float(words[i] & 0xFFFF0000u);
    }
  }
}

/// Rounds the sums of one tile to bf16, slot by slot; of half `kHalf` of the columns where K is split.
/// Before that it adds what others have summed of the same rows, `addends` slots one after another, the
/// last of which it overwrites; `loads` counts the loads of each slot, modulo two.
template <int kTile, int kHalf, bool kAdds>
__device__ __forceinline__ void round_out(
    float (&sums)[Layout<kTile>::blocks][Layout<kTile>::warpgroup_n / 2], std::uint32_t shared,
    int warpgroup, [[maybe_unused]] int addends, Ring& ring,
    [[maybe_unused]] std::uint32_t& loads) {
  using L = Layout<kTile>;
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t row = threadIdx.x % 128 / 32 * 16 + lane % 16;
  const std::uint32_t swizzle = slot_swizzle<L::slot_columns>(row);
#pragma unroll
  for (int rows = 0; rows < L::blocks; ++rows) {
#pragma unroll
    for (int piece = 0; piece < L::pieces; ++piece) {
      float* const first =
          &sums[rows][(kHalf * L::pieces * L::slot_columns + piece * L::slot_columns) / 2];
      const auto slot_now = [&] { return warpgroup * L::slots + ring.index; };
      const auto row_at = [&](std::uint32_t slot) {
        return shared + L::slots_at + slot * L::slot_bytes + row * (2 * L::slot_columns);
      };
      const auto await_slot = [&](std::uint32_t slot) {
        ptx::barrier_wait<false>(shared + L::slot_empty_at + 8 * slot, ring.parity ^ 1);
      };
      const auto hand_over = [&](std::uint32_t slot) {
        ptx::fence_shared_to_copy_engine();
        __syncwarp();
        if (lane == 0) ptx::barrier_arrive(shared + L::slot_full_at + 8 * slot);
        ring.template advance<L::slots>();
      };
      if constexpr (kAdds) {
#pragma unroll 1
        for (int left = addends; left > 0; --left) {
          const std::uint32_t slot = slot_now();
          await_slot(slot);
          ptx::barrier_wait<false>(shared + L::slot_loaded_at + 8 * slot, loads >> ring.index & 1);
          loads ^= 1u << ring.index;
          add_slot<L::slot_columns>(first, row_at(slot), swizzle);
          if (left > 1) hand_over(slot);
        }
      }
      const std::uint32_t slot = slot_now();
      if (!kAdds || addends == 0) await_slot(slot);
      const std::uint32_t at = row_at(slot);
#pragma unroll
      for (int pair = 0; pair < L::slot_columns / 16; ++pair) {
        const float* d = first + pair * 8;
        const std::uint32_t chunk = (2 * pair + lane / 16) ^ swizzle;
        ptx::store_matrices(at + 16 * chunk, ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]),
                            ptx::pack_bf16(d[4], d[5]), ptx::pack_bf16(d[6], d[7]));
      }
      hand_over(slot);
    }
  }
}

/// Sends off the slots of one tile whose warpgroup part begins at (rows.begin, column). A slot is handed
/// back when a few stores after it are on their way, so that they overlap. By one warp, `leader` is its
/// elected thread, which drives the copy engine; the others have nothing to wait for.
template <int kTile, class Mode>
__device__ __forceinline__ void send_tile(const typename Mode::Params& params, std::uint32_t shared,
                                          int warpgroup, shapes::Rows rows, int column, bool leader,
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
                                {rows.begin + 64 * (i / L::pieces), rows.end},
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

/// Likewise of a tile to which what others have summed of its rows is added: brings that, `addends` slots for
/// each that is stored, into as many slots as there are while the tile is multiplied, and sends off the
/// last of each `addends`.
template <int kTile, class Mode>
__device__ __forceinline__ void send_sums(const typename Mode::Params& params, std::uint32_t shared,
                                          int warpgroup, shapes::Rows rows, int column, int addends,
                                          bool leader, Ring& ring, typename Mode::Sender& sender) {
  using L = Layout<kTile>;
  const int turns = L::blocks * L::pieces * addends;
  int asked = 0;     // turns that are asked for
  int asked_of = 0;  // the addend that comes next of the store whose turn that is
  int asked_store = 0;
  Ring ahead = ring;
  Mode::template await_addends<kTile>(params, sender, rows);
  const auto ask = [&] {
    if (asked == turns) return;
    const std::uint32_t slot = warpgroup * L::slots + ahead.index;
    const std::uint32_t loaded = shared + L::slot_loaded_at + 8 * slot;
    ptx::barrier_expect(loaded, L::slot_bytes);
    Mode::load_addend(params, asked_of, shared + L::slots_at + slot * L::slot_bytes, loaded,
                      rows.begin + 64 * (asked_store / L::pieces),
                      column + asked_store % L::pieces * L::slot_columns);
    ++asked;
    if (++asked_of == addends) {
      asked_of = 0;
      ++asked_store;
    }
    ahead.template advance<L::slots>();
  };
  for (int i = 0; i < L::slots; ++i) ask();
  for (int i = 0; i < L::blocks * L::pieces; ++i)
    for (int left = addends; left > 0; --left) {
      const std::uint32_t slot = warpgroup * L::slots + ring.index;
      ptx::barrier_wait<false>(shared + L::slot_full_at + 8 * slot, ring.parity);
      if (left == 1) {
        Mode::template store<kTile>(params, sender, shared + L::slots_at + slot * L::slot_bytes,
                                    {rows.begin + 64 * (i / L::pieces), rows.end},
                                    column + i % L::pieces * L::slot_columns, leader);
        __syncwarp();
        ptx::commit_stores();
        ptx::wait_stores_read<0>();
        __syncwarp();
      }
      if (leader) ptx::barrier_arrive(shared + L::slot_empty_at + 8 * slot);
      ask();
      ring.template advance<L::slots>();
    }
}

}  // namespace weft::kernels
