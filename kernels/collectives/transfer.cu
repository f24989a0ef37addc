// SPDX-License-Identifier: Apache-2.0
// The kernel of the communication CTAs: pieces in order, each spread over all CTAs; the last CTA to
// finish a piece posts its signal. Copies and sums go through registers in 16-byte vectors.
#include "kernels/collectives/piece.cuh"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using device::kVectorsInFlight;

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

/// False when the wait outlived its budget.
__device__ bool wait_for(const TransferLaunch& launch, const TransferPiece& piece) {
  __shared__ int reached;
  if (threadIdx.x == 0) reached = device::flag_comes(launch, piece) ? 1 : 0;
  __syncthreads();
  const bool ok = reached != 0;
  __syncthreads();
  return ok;
}

/// Posts the piece's signal once every CTA has arrived.
__device__ void arrive(const TransferLaunch& launch, int index, const TransferPiece& piece) {
  if (piece.post_signal == TransferPiece::kNoSignal) return;
  __syncthreads();
  if (threadIdx.x == 0) device::count_arrival(launch, index, piece);
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
    const device::Bounds share = device::share_of(piece.bytes, 1);
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
  if (launch.loads_in_flight_bytes > 0 || launch.stores_in_flight_bytes > 0) {
    launch_windowed_transfer(launch, stream);
    return;
  }
  transfer<<<launch.ctas, kTransferThreads, 0, stream>>>(launch);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
