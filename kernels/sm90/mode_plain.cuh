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
  struct Loader {
    __device__ __forceinline__ void look(const Params&) {}
    __device__ __forceinline__ bool sure() const { return true; }
  };
  struct Sender {};

  static __device__ __forceinline__ void wait_rows(const Params&, Loader&, int, int) {}

  template <int kTile>
  static __device__ __forceinline__ void store(const Params& params, Sender&, std::uint32_t slot,
                                               int row, int column) {
    if (row < params.core.m && column < params.core.n && threadIdx.x % 32 == 0)
      ptx::store_box(&params.out, slot, column, row);
  }

  template <int kTile>
  static __device__ __forceinline__ void finish(const Params&, int, int) {}

  static __device__ __forceinline__ void communicate(const Params&) {}
};

}  // namespace weft::kernels
