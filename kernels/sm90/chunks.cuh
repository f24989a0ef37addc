// SPDX-License-Identifier: Apache-2.0
// Ownership of rows as the kernels see it, and the loops of communication CTAs: copying rows and
// adding partial rows, 16 bytes a thread, several loads in flight, at the common pace.
#pragma once

#include "kernels/shapes/ownership.hpp"
#include "kernels/sm90/wait.cuh"

namespace weft::kernels {

/// shapes::Ownership with its quotients worked out.
struct Chunks {
  int rows;
  int ranks;
  int rank;
  int shard_rows;
  int chunk_rows;
  int per_shard;

  /// Makes it on the host.
  static Chunks of(const shapes::Ownership& o, int rank) {
    return {o.rows, o.ranks, rank, o.shard_rows(), o.chunk_rows(), o.chunks_per_shard};
  }
  __device__ __forceinline__ int owner_of(int row) const { return row / shard_rows; }
  __device__ __forceinline__ int chunk_of(int row) const {
    const int owner = owner_of(row);
    return owner * per_shard + (row - owner * shard_rows) / chunk_rows;
  }
  /// Rows of chunk `index` of all; may be empty.
  __device__ __forceinline__ shapes::Rows chunk(int index) const {
    const int owner = index / per_shard;
    const int end = min(rows, (owner + 1) * shard_rows);
    const int begin = min(end, owner * shard_rows + (index - owner * per_shard) * chunk_rows);
    return {begin, min(end, begin + chunk_rows)};
  }
};

/// Rows of 16-byte vectors in memory.
struct Vectors {
  uint4* data;
  std::int64_t stride;  ///< in vectors
};

__device__ __forceinline__ uint4 load_vector(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
}

/// Vectors that a thread moves between two looks at the pace.
inline constexpr int vectors_in_flight = 8;

/// Calls step(first, last) for this CTA's pieces of `total` vectors, each at its turn.
template <class Step>
__device__ __forceinline__ void for_pieces(const Coordination& c, std::int64_t total, int cta,
                                           int ctas, int bytes_per_vector, const Step& step) {
  const std::int64_t piece = std::int64_t{blockDim.x} * vectors_in_flight;
  for (std::int64_t first = cta * piece; first < total; first += ctas * piece) {
    const std::int64_t last = min(total, first + piece);
    if (c.pace_per_mib != 0 && bytes_per_vector != 0) {
      if (threadIdx.x == 0) keep_pace(c, (last - first) * bytes_per_vector);
      __syncthreads();
    }
    step(first, last);
  }
}

/// Copies `rows` rows of `width` vectors, this CTA's share.
__device__ __forceinline__ void copy_rows(const Coordination& c, Vectors to, Vectors from, int rows,
                                          int width, int cta, int ctas) {
  for_pieces(c, std::int64_t{rows} * width, cta, ctas, 16,
             [&](std::int64_t first, std::int64_t last) {
               uint4 held[vectors_in_flight];
#pragma unroll
               for (int i = 0; i < vectors_in_flight; ++i) {
                 const std::int64_t v = first + i * std::int64_t{blockDim.x} + threadIdx.x;
                 if (v < last)
                   held[i] = load_vector(from.data + v / width * from.stride + v % width);
               }
#pragma unroll
               for (int i = 0; i < vectors_in_flight; ++i) {
                 const std::int64_t v = first + i * std::int64_t{blockDim.x} + threadIdx.x;
                 if (v < last) to.data[v / width * to.stride + v % width] = held[i];
               }
             });
}

/// Sets `sums` to the eight bf16 of `v`.
__device__ __forceinline__ void widen_vector(float (&sums)[8], uint4 v) {
  const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] = __uint_as_float(words[i] << 16);
    sums[2 * i + 1] = __uint_as_float(words[i] & 0xFFFF0000u);
  }
}

/// Adds the eight bf16 of `v` to `sums`.
__device__ __forceinline__ void add_vector(float (&sums)[8], uint4 v) {
  const std::uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] += __uint_as_float(words[i] << 16);
    sums[2 * i + 1] += __uint_as_float(words[i] & 0xFFFF0000u);
  }
}

/// Returns the sums rounded to bf16.
__device__ __forceinline__ uint4 round_vector(const float (&sums)[8]) {
  return {ptx::pack_bf16(sums[0], sums[1]), ptx::pack_bf16(sums[2], sums[3]),
          ptx::pack_bf16(sums[4], sums[5]), ptx::pack_bf16(sums[6], sums[7])};
}

}  // namespace weft::kernels
