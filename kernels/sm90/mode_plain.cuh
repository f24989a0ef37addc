// SPDX-License-Identifier: Apache-2.0
// The plain GEMM: nothing to wait for, one matrix to store to.
#pragma once

#include "kernels/sm90/kernel.cuh"

namespace weft::kernels {

struct Plain {
  struct Params {
    CoreParams core;
    CUtensorMap out;
  };
  static constexpr bool looks = false;     ///< at flags before the first tile
  static constexpr bool in_turns = false;  ///< owners' rows may take turns
  static constexpr bool adds = false;      ///< what others have summed, where tiles are rounded out
  struct Loader {};
  struct Sender {};

  static __device__ __forceinline__ void wait_rows(const Params&, Loader&, int, int) {}

  template <int kTile>
  static __device__ __forceinline__ void store(const Params& params, Sender&, std::uint32_t slot,
                                               shapes::Rows rows, int column, bool) {
    if (rows.begin < rows.end && column < params.core.n)
      ptx::store_box(&params.out, slot, column, rows.begin);
  }

  template <int kTile>
  static __device__ __forceinline__ void finish(const Params&, shapes::Rows, int) {}

  template <int kThreads>
  static __device__ __forceinline__ void communicate(const Params&, std::uint32_t) {}
};

}  // namespace weft::kernels
