// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/streams.hpp"

#include <cstring>
#include <utility>

#include "kernels/memory/check.hpp"

namespace weft::kernels {

RankStreams::RankStreams() {
  int least = 0;
  int greatest = 0;
  WEFT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (std::size_t i = 0; i < streams_.size(); ++i)
    WEFT_CUDA(cudaStreamCreateWithPriority(&streams_[i], cudaStreamNonBlocking,
                                           i == 0 ? least : greatest));
}

RankStreams::RankStreams(RankStreams&& other) noexcept
    : streams_(std::exchange(other.streams_, {})) {}

RankStreams::~RankStreams() {
  for (cudaStream_t stream : streams_)
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
}

void RankStreams::synchronize() const {
  for (cudaStream_t stream : streams_) WEFT_CUDA(cudaStreamSynchronize(stream));
}

Allocations::~Allocations() {
  for (void* pointer : device_) static_cast<void>(cudaFree(pointer));
  for (void* pointer : host_) static_cast<void>(cudaFreeHost(pointer));
}

std::byte* Allocations::on_device(std::size_t bytes) {
  void* pointer = nullptr;
  WEFT_CUDA(cudaMalloc(&pointer, bytes));
  device_.push_back(pointer);
  WEFT_CUDA(cudaMemset(pointer, 0, bytes));
  return static_cast<std::byte*>(pointer);
}

std::byte* Allocations::on_host(std::size_t bytes) {
  void* pointer = nullptr;
  WEFT_CUDA(cudaHostAlloc(&pointer, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  host_.push_back(pointer);
  std::memset(pointer, 0, bytes);
  return static_cast<std::byte*>(pointer);
}

}  // namespace weft::kernels
