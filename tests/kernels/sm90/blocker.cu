// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/check.hpp"
#include "tests/kernels/sm90/blocker.hpp"

namespace weft::kernels::test {
namespace {

// So much that nothing else of any size fits beside it.
constexpr int shared_bytes = 200 << 10;

__device__ std::int64_t now() {
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void block(std::int64_t nanoseconds, int* resident) {
  const std::int64_t start = now();
  if (threadIdx.x == 0) atomicAdd_system(resident, 1);
  while (now() - start < nanoseconds) __nanosleep(500);
}

}  // namespace

Blocker::Blocker() {
  WEFT_CUDA(cudaHostAlloc(&resident_, sizeof(int), cudaHostAllocMapped));
  WEFT_CUDA(cudaFuncSetAttribute(block, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
}

Blocker::~Blocker() {
  cudaFreeHost(resident_);
}

void Blocker::hold(int ctas, std::int64_t nanoseconds, cudaStream_t stream) {
  __atomic_store_n(resident_, 0, __ATOMIC_RELEASE);
  // The time that the host takes to see them and to launch the other kernel is not theirs.
  constexpr std::int64_t launch_ns = 10'000;
  block<<<static_cast<unsigned>(ctas), 512, shared_bytes, stream>>>(nanoseconds + launch_ns,
                                                                    resident_);
  WEFT_CUDA(cudaGetLastError());
  while (__atomic_load_n(resident_, __ATOMIC_ACQUIRE) < ctas) {
  }
}

}  // namespace weft::kernels::test
