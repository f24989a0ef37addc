// SPDX-License-Identifier: Apache-2.0
#include "kernels/collectives/device.cuh"
#include "kernels/measure/probes.hpp"
#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

constexpr std::uint64_t kGiveUpNs = 1'000'000'000;

__global__ void stamp_kernel(Stamp* stamp, std::uint64_t hold_ns) {
  const std::uint64_t start = device::now_ns();
  std::uint64_t now = start;
  while (now - start < hold_ns) now = device::now_ns();
  if (blockIdx.x == 0 && threadIdx.x == 0 && stamp != nullptr) *stamp = {start, now};
}

__device__ bool reach(const Signal* flag, Signal value) {
  const std::uint64_t start = device::now_ns();
  while (!device::reached(device::load_acquire(flag), value))
    if (device::now_ns() - start > kGiveUpNs) return false;
  return true;
}

__device__ void play(Signal* mine, Signal* theirs, bool starts, Signal base, int rounds,
                     std::uint64_t* elapsed_ns) {
  const std::uint64_t start = device::now_ns();
  bool ok = true;
  for (int i = 1; ok && i <= rounds; ++i) {
    if (starts) device::store_release(theirs, base + i);
    ok = reach(mine, base + i);
    if (!starts) device::store_release(theirs, base + i);
  }
  if (elapsed_ns != nullptr) *elapsed_ns = ok ? device::now_ns() - start : 0;
}

__global__ void ping_pong_kernel(Signal* flags, Signal base, int rounds,
                                 std::uint64_t* elapsed_ns) {
  Signal* mine = flags + 16 * blockIdx.x;
  Signal* theirs = flags + 16 * (1 - blockIdx.x);
  play(mine, theirs, blockIdx.x == 0, base, rounds, blockIdx.x == 0 ? elapsed_ns : nullptr);
}

__global__ void ping_pong_side_kernel(Signal* mine, Signal* theirs, bool starts, Signal base,
                                      int rounds, std::uint64_t* elapsed_ns) {
  play(mine, theirs, starts, base, rounds, elapsed_ns);
}

__global__ void watch_kernel(Stamp* stamp, Signal* posted, Signal value, std::uint64_t hold_ns,
                             const Signal* seen, Signal awaited, std::uint64_t linger_ns) {
  const std::uint64_t begin = device::now_ns();
  std::uint64_t start = begin;
  while (start - begin < hold_ns) start = device::now_ns();
  if (posted != nullptr) device::store_release(posted, value);
  const bool ok = seen == nullptr || reach(seen, awaited);
  if (stamp != nullptr) *stamp = {start, ok ? device::now_ns() : 0};
  while (device::now_ns() - start < linger_ns) {
  }
}

__global__ void clock_kernel(std::uint64_t* cycles_and_ns, std::uint64_t hold_ns) {
  const std::uint64_t start = device::now_ns();
  const long long first = clock64();
  std::uint64_t now = start;
  while (now - start < hold_ns) now = device::now_ns();
  cycles_and_ns[0] = static_cast<std::uint64_t>(clock64() - first);
  cycles_and_ns[1] = device::now_ns() - start;
}

}  // namespace

void launch_stamp(Stamp* stamp, std::uint64_t hold_ns, int ctas, cudaStream_t stream) {
  stamp_kernel<<<ctas, 32, 0, stream>>>(stamp, hold_ns);
  WEFT_CUDA(cudaGetLastError());
}

void launch_ping_pong(Signal* flags, Signal base, int rounds, std::uint64_t* elapsed_ns,
                      cudaStream_t stream) {
  ping_pong_kernel<<<2, 1, 0, stream>>>(flags, base, rounds, elapsed_ns);
  WEFT_CUDA(cudaGetLastError());
}

void launch_clock_probe(std::uint64_t* cycles_and_ns, std::uint64_t hold_ns, cudaStream_t stream) {
  clock_kernel<<<1, 1, 0, stream>>>(cycles_and_ns, hold_ns);
  WEFT_CUDA(cudaGetLastError());
}

void launch_watch(Stamp* stamp, Signal* posted, Signal value, std::uint64_t hold_ns,
                  const Signal* seen, Signal awaited, cudaStream_t stream,
                  std::uint64_t linger_ns) {
  watch_kernel<<<1, 1, 0, stream>>>(stamp, posted, value, hold_ns, seen, awaited, linger_ns);
  WEFT_CUDA(cudaGetLastError());
}

void launch_ping_pong_side(Signal* mine, Signal* theirs, bool starts, Signal base, int rounds,
                           std::uint64_t* elapsed_ns, cudaStream_t stream) {
  ping_pong_side_kernel<<<1, 1, 0, stream>>>(mine, theirs, starts, base, rounds, elapsed_ns);
  WEFT_CUDA(cudaGetLastError());
}

}  // namespace weft::kernels
