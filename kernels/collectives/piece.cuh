// SPDX-License-Identifier: Apache-2.0
// What the kernels of communication CTAs share: a CTA's part of a piece, the wait before it and the post
// after it.
#pragma once

#include "kernels/collectives/device.cuh"
#include "kernels/collectives/transfer.hpp"

namespace weft::kernels {

/// Launches the kernel that keeps an exact window; called by launch_transfer.
void launch_windowed_transfer(const TransferLaunch& launch, cudaStream_t stream);

namespace device {

/// A range of 16-byte vectors.
struct Bounds {
  std::int64_t first;
  std::int64_t last;
};

/// Returns this CTA's part of `bytes`, which begins at a multiple of `granule` vectors.
__device__ inline Bounds share_of(std::int64_t bytes, int granule) {
  const std::int64_t vectors = bytes / 16;
  const std::int64_t granules = (vectors + granule - 1) / granule;
  const std::int64_t each = (granules + gridDim.x - 1) / gridDim.x * granule;
  const std::int64_t first = min(vectors, each * blockIdx.x);
  return {first, min(vectors, first + each)};
}

/// Waits for the piece's flag; false when that outlived its budget: the error record is then written once. By
/// one thread.
__device__ inline bool flag_comes(const TransferLaunch& launch, const TransferPiece& piece) {
  const Signal* signal = launch.waits + piece.wait_signal;
  const std::uint64_t start = now_ns();
  Signal seen = load_acquire(signal);
  while (!reached(seen, launch.wait_value) && now_ns() - start < launch.wait_budget_ns)
    seen = load_acquire(signal);
  const bool came = reached(seen, launch.wait_value);
  if (!came && atomicCAS(&launch.error->set, 0u, 1u) == 0u) {
    launch.error->rank = launch.rank;
    launch.error->cta = static_cast<int>(blockIdx.x);
    launch.error->chunk = piece.chunk;
    launch.error->expected = launch.wait_value;
    launch.error->seen = seen;
    __threadfence_system();
  }
  return came;
}

/// Counts this CTA's part as done, and posts the piece's signal for the last one; the counter is then zero
/// again. By one thread, after what it has observed or written.
__device__ inline void count_arrival(const TransferLaunch& launch, int index,
                                     const TransferPiece& piece) {
  __threadfence_system();
  const std::uint32_t before = atomicAdd(launch.arrivals + index, 1u);
  if (before + 1 != gridDim.x) return;
  launch.arrivals[index] = 0;
  __threadfence_system();
  store_release(launch.posts + piece.post_signal, launch.post_value);
}

}  // namespace device
}  // namespace weft::kernels
