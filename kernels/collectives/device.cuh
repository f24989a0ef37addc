// SPDX-License-Identifier: Apache-2.0
// Device code that the communication CTAs and the background traffic share: vectors in flight, bf16
// sums in fp32, pacing and system-scope flags.
#pragma once

#include <cstdint>

#include "kernels/sm90/options.hpp"

namespace weft::kernels::device {

inline constexpr int kVectorsInFlight = 8;

__device__ inline std::uint64_t now_ns() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value));
  return value;
}

__device__ inline Signal load_acquire(const Signal* signal) {
  Signal value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(signal) : "memory");
  return value;
}

__device__ inline void store_release(Signal* signal, Signal value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(signal), "r"(value) : "memory");
}

/// True when a sequence number has reached `value`, also across a wrap.
__device__ inline bool reached(Signal seen, Signal value) {
  return static_cast<std::int32_t>(seen - value) >= 0;
}

__device__ inline uint4 load_stream(const uint4* address) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address)
               : "memory");
  return v;
}

__device__ inline void store_stream(uint4* address, uint4 v) {
  asm volatile("st.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.x),
               "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}

/// Adds the two bf16 of `packed` to a pair of fp32 sums.
__device__ inline void add_bf16(float& low, float& high, unsigned int packed) {
  low += __uint_as_float(packed << 16);
  high += __uint_as_float(packed & 0xffff0000u);
}

/// Two fp32 rounded to nearest even and packed as bf16.
__device__ inline unsigned int pack_bf16(float low, float high) {
  unsigned int packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// Holds a CTA to its share of a pace: called with the bytes it has moved since `start_ns`.
__device__ inline void keep_pace(std::uint64_t start_ns, std::int64_t moved, double bytes_per_ns) {
  if (bytes_per_ns <= 0) return;
  const auto due = start_ns + static_cast<std::uint64_t>(static_cast<double>(moved) / bytes_per_ns);
  while (now_ns() < due) __nanosleep(100);
}

}  // namespace weft::kernels::device
