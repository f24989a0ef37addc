// SPDX-License-Identifier: Apache-2.0
#include "kernels/collectives/device.cuh"
#include "kernels/measure/traffic.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

using device::kVectorsInFlight;

struct Batch {
  uint4 held[kVectorsInFlight];
};

__device__ void load(Batch& batch, const std::byte* from, std::int64_t at, int unroll) {
  const auto* source = reinterpret_cast<const uint4*>(from + at) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll) batch.held[i] = device::load_stream(source + i * kTrafficThreads);
}

__device__ void store(const Batch& batch, std::byte* to, std::int64_t at, int unroll) {
  auto* target = reinterpret_cast<uint4*>(to + at) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll) device::store_stream(target + i * kTrafficThreads, batch.held[i]);
}

__device__ unsigned int add_pair(unsigned int a, unsigned int b) {
  float low = 0;
  float high = 0;
  device::add_bf16(low, high, a);
  device::add_bf16(low, high, b);
  return device::pack_bf16(low, high);
}

__device__ void add(Batch& batch, const std::byte* from, std::int64_t at, int unroll) {
  const auto* source = reinterpret_cast<const uint4*>(from + at) + threadIdx.x;
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll) {
      const uint4 v = device::load_stream(source + i * kTrafficThreads);
      uint4& h = batch.held[i];
      h = make_uint4(add_pair(h.x, v.x), add_pair(h.y, v.y), add_pair(h.z, v.z),
                     add_pair(h.w, v.w));
    }
}

/// A value that depends on everything that was read, so that reading alone is not removed.
__device__ bool never(const Batch& batch, int unroll) {
  unsigned int all = 0xffffffffu;
#pragma unroll
  for (int i = 0; i < kVectorsInFlight; ++i)
    if (i < unroll) all &= batch.held[i].x & batch.held[i].y & batch.held[i].z & batch.held[i].w;
  return all == 0xfffffff1u;
}

__device__ bool told_to_stop(const TrafficLaunch& launch, std::uint64_t start) {
  __shared__ int stop;
  __syncthreads();
  if (threadIdx.x == 0)
    stop = device::reached(device::load_acquire(launch.stop), launch.stop_value) ||
           device::now_ns() - start > launch.budget_ns;
  __syncthreads();
  return stop != 0;
}

__global__ void __launch_bounds__(kTrafficThreads, 1) traffic(const TrafficLaunch launch) {
  constexpr std::int64_t kRow = std::int64_t{kTrafficThreads} * 16;
  constexpr int kBatchesBetweenPolls = 4;
  int unroll = kVectorsInFlight;
  if (launch.in_flight_bytes > 0)
    unroll = static_cast<int>(
        max(std::int64_t{1}, min(std::int64_t{kVectorsInFlight}, launch.in_flight_bytes / kRow)));
  const std::int64_t step = unroll * kRow;
  const std::int64_t own = launch.region_bytes / gridDim.x / step * step;
  const std::int64_t base = own * blockIdx.x;
  const double pace = launch.bytes_per_ns / gridDim.x;
  const std::uint64_t start = device::now_ns();
  if (threadIdx.x == 0 && launch.resident != nullptr) atomicAdd_system(launch.resident, 1u);
  std::int64_t moved = 0;
  std::int64_t at = 0;
  for (int round = 0;; ++round) {
    if (round % kBatchesBetweenPolls == 0 && told_to_stop(launch, start)) break;
    if (launch.kind == TrafficKind::spin) continue;
    if (launch.most_bytes > 0 && moved >= launch.most_bytes) break;
    device::keep_pace(start, moved, pace);
    Batch batch{};
    if (launch.kind == TrafficKind::write) {
      for (uint4& v : batch.held) v = make_uint4(threadIdx.x * 2654435761u, round, 0x3f803f80u, at);
    } else {
      load(batch, launch.source, base + at, unroll);
    }
    if (launch.kind == TrafficKind::reduce) add(batch, launch.second, base + at, unroll);
    if (launch.kind != TrafficKind::read)
      store(batch, launch.target, base + at, unroll);
    else if (never(batch, unroll))
      launch.records[blockIdx.x].bytes = -1;
    if (launch.in_flight_bytes > 0) __threadfence_system();
    moved += step;
    at = at + step < own ? at + step : 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence_system();
    launch.records[blockIdx.x] = {moved, start, device::now_ns()};
  }
}

}  // namespace

void launch_traffic(const TrafficLaunch& launch, cudaStream_t stream) {
  traffic<<<launch.ctas, kTrafficThreads, 0, stream>>>(launch);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
