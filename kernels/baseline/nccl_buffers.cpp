// SPDX-License-Identifier: Apache-2.0
#include "kernels/baseline/nccl_buffers.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "kernels/memory/check.hpp"

namespace weft::kernels {
namespace {

/// NCCL maps whole pages of this size; sizes that are multiples of it leave nothing over.
constexpr std::size_t kMappedPage = std::size_t{2} << 20;

}  // namespace

NcclBuffers::NcclBuffers(const NcclGroup& group, std::vector<int> devices, std::size_t bytes)
    : group_(group),
      devices_(std::move(devices)),
      bytes_((bytes + kMappedPage - 1) / kMappedPage * kMappedPage),
      windows_(devices_.size(), nullptr) {
  try {
    for (const int device : devices_) {
      WEFT_CUDA(cudaSetDevice(device));
      owned_.push_back(group_.allocate(bytes_));
      WEFT_CUDA(cudaMemset(owned_.back(), 0, bytes_));
      WEFT_CUDA(cudaDeviceSynchronize());
    }
    each_rank([&](int rank) {
      windows_[static_cast<std::size_t>(rank)] = group_.open_window(rank, at(rank), bytes_);
    });
  } catch (...) {
    free();
    throw;
  }
}

NcclBuffers::~NcclBuffers() {
  free();
}

void NcclBuffers::free() const {
  try {
    each_rank([&](int rank) {
      if (window(rank) != nullptr) group_.close_window(rank, window(rank));
    });
  } catch (...) {  // NOLINT(bugprone-empty-catch): the memory goes back in any case
  }
  for (std::byte* own : owned_) group_.free(own);
}

// Every rank has to call at the same time: each does so from a thread of its own.
void NcclBuffers::each_rank(const std::function<void(int)>& work) const {
  std::vector<std::exception_ptr> failures(devices_.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(devices_.size()); ++rank)
    threads.emplace_back([&, rank] {
      const auto i = static_cast<std::size_t>(rank);
      try {
        WEFT_CUDA(cudaSetDevice(devices_[i]));
        work(rank);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace weft::kernels
