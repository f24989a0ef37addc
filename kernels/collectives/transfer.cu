// SPDX-License-Identifier: Apache-2.0
// The kernel of the communication CTAs: pieces in order, each spread over all CTAs; the last CTA to
// finish a piece posts its signal. Copies and sums go through registers in 16-byte vectors.
#include "kernels/collectives/device.cuh"
#include "kernels/collectives/transfer.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using device::kVectorsInFlight;

struct Bounds {
  std::int64_t first;  // vectors
  std::int64_t last;
};

__device__ Bounds share_of(std::int64_t bytes, int cta, int ctas) {
  const std::int64_t vectors = bytes / 16;
  const std::int64_t each = (vectors + ctas - 1) / ctas;
  const std::int64_t first = min(vectors, each * cta);
  return {first, min(vectors, first + each)};
}

__device__ void copy_batch(uint4* target, const uint4* source, std::int64_t first,
                           std::int64_t last, int unroll) {
  uint4 held[kVectorsInFlight];
  const std::int64_t at = first + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll && at + i * kTransferThreads < last)
      held[i] = device::load_stream(source + at + i * kTransferThreads);
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll && at + i * kTransferThreads < last)
      device::store_stream(target + at + i * kTransferThreads, held[i]);
}

__device__ void reduce_batch(uint4* target, const TransferLaunch& launch,
                             const TransferPiece& piece, std::int64_t first, std::int64_t last,
                             int unroll) {
  constexpr int kWidth = 4;
  for (int group = 0; group < unroll; group += kWidth) {
    float sum[kWidth][8] = {};
    const std::int64_t at = first + threadIdx.x + std::int64_t{group} * kTransferThreads;
    for (int s = 0; s < piece.sources; ++s) {
      const auto* source = reinterpret_cast<const uint4*>(launch.sources[piece.first_source + s] +
                                                          piece.source_offset);
      uint4 held[kWidth];
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        if (group + i < unroll && at + i * kTransferThreads < last)
          held[i] = device::load_stream(source + at + i * kTransferThreads);
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        if (group + i < unroll && at + i * kTransferThreads < last) {
          device::add_bf16(sum[i][0], sum[i][1], held[i].x);
          device::add_bf16(sum[i][2], sum[i][3], held[i].y);
          device::add_bf16(sum[i][4], sum[i][5], held[i].z);
          device::add_bf16(sum[i][6], sum[i][7], held[i].w);
        }
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      if (group + i < unroll && at + i * kTransferThreads < last)
        device::store_stream(target + at + i * kTransferThreads,
                             make_uint4(device::pack_bf16(sum[i][0], sum[i][1]),
                                        device::pack_bf16(sum[i][2], sum[i][3]),
                                        device::pack_bf16(sum[i][4], sum[i][5]),
                                        device::pack_bf16(sum[i][6], sum[i][7])));
  }
}

/// False when the wait outlived its budget; the error record is then written once.
__device__ bool wait_for(const TransferLaunch& launch, const TransferPiece& piece) {
  __shared__ int reached;
  if (threadIdx.x == 0) {
    const Signal* signal = launch.waits + piece.wait_signal;
    const std::uint64_t start = device::now_ns();
    Signal seen = device::load_acquire(signal);
    while (!device::reached(seen, launch.wait_value) &&
           device::now_ns() - start < launch.wait_budget_ns)
      seen = device::load_acquire(signal);
    reached = device::reached(seen, launch.wait_value);
    if (!reached && atomicCAS(&launch.error->set, 0u, 1u) == 0u) {
      launch.error->rank = launch.rank;
      launch.error->cta = static_cast<int>(blockIdx.x);
      launch.error->chunk = piece.chunk;
      launch.error->expected = launch.wait_value;
      launch.error->seen = seen;
      __threadfence_system();
    }
  }
  __syncthreads();
  const bool ok = reached != 0;
  __syncthreads();
  return ok;
}

/// Posts the piece's signal once every CTA has arrived; the counter is then zero again.
__device__ void arrive(const TransferLaunch& launch, int index, const TransferPiece& piece) {
  if (piece.post_signal == TransferPiece::kNoSignal) return;
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  const std::uint32_t before = atomicAdd(launch.arrivals + index, 1u);
  if (before + 1 != gridDim.x) return;
  launch.arrivals[index] = 0;
  __threadfence_system();
  device::store_release(launch.posts + piece.post_signal, launch.post_value);
}

__global__ void __launch_bounds__(kTransferThreads, 1) transfer(const TransferLaunch launch) {
  constexpr std::int64_t kRow = std::int64_t{kTransferThreads} * 16;
  int unroll = kVectorsInFlight;
  if (launch.in_flight_bytes > 0)
    unroll = static_cast<int>(
        max(std::int64_t{1}, min(std::int64_t{kVectorsInFlight}, launch.in_flight_bytes / kRow)));
  const double pace = launch.bytes_per_ns / gridDim.x;
  const std::uint64_t start = device::now_ns();
  std::int64_t moved = 0;
  for (int index = 0; index < launch.count; ++index) {
    const TransferPiece piece = launch.pieces[index];
    if (piece.wait_signal != TransferPiece::kNoSignal && !wait_for(launch, piece)) return;
    auto* target = reinterpret_cast<uint4*>(launch.targets[piece.target] + piece.target_offset);
    const auto* source =
        reinterpret_cast<const uint4*>(launch.sources[piece.first_source] + piece.source_offset);
    const Bounds share =
        share_of(piece.bytes, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
    const std::int64_t step = std::int64_t{unroll} * kTransferThreads;
    for (std::int64_t first = share.first; first < share.last; first += step) {
      device::keep_pace(start, moved, pace);
      const std::int64_t last = min(share.last, first + step);
      if (piece.sources == 1)
        copy_batch(target, source, first, last, unroll);
      else
        reduce_batch(target, launch, piece, first, last, unroll);
      moved += (last - first) * 16;
      if (launch.in_flight_bytes > 0) __threadfence_system();
    }
    arrive(launch, index, piece);
  }
}

}  // namespace

void launch_transfer(const TransferLaunch& launch, cudaStream_t stream) {
  transfer<<<launch.ctas, kTransferThreads, 0, stream>>>(launch);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
