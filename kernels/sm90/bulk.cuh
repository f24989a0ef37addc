// SPDX-License-Identifier: Apache-2.0
// Rows of bytes on the copy engine of an SM: from global to shared memory and back, any address and size
// that 16 divides (PTX ISA 8.7, section 9.7.9.25). By one thread each.
#pragma once

#include <cstdint>

#include "kernels/sm90/ptx.cuh"

namespace weft::kernels::bulk {

/// Loads `bytes` and counts them on `barrier`, which is told to expect them.
__device__ __forceinline__ void load(std::uint32_t to, const std::byte* from, std::uint32_t bytes,
                                     std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(to),
      "l"(from), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Stores `bytes` as a group of its own.
__device__ __forceinline__ void store(std::byte* to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from),
               "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until all but the last `left` groups, at most kLeft, are complete: written, not only read.
template <int kLeft>
__device__ __forceinline__ void wait_but(int left) {
  if (left == kLeft)
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kLeft) : "memory");
  else if constexpr (kLeft > 0)
    wait_but<kLeft - 1>(left);
}

}  // namespace weft::kernels::bulk
