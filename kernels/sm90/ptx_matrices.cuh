// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 x 8 bf16 between registers, in the layout in which multiplications leave their sums, and
// shared memory (PTX ISA 8.7, section 9.7.14.5).
#pragma once

#include <cstdint>

namespace weft::kernels::ptx {

/// Stores four 8x8 matrices of 16-bit elements, the address of a row by lane.
__device__ __forceinline__ void store_matrices(std::uint32_t address, std::uint32_t a,
                                               std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

/// Loads four such matrices, by the same addresses to the same lanes.
__device__ __forceinline__ uint4 load_matrices(std::uint32_t address) {
  uint4 v;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

/// Rounds two floats to bf16, `low` in the low half.
__device__ __forceinline__ std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

}  // namespace weft::kernels::ptx
