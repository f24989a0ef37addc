// SPDX-License-Identifier: Apache-2.0
// Peers that are pinned host memory. The link is a real one, with real copy engines and real
// contention; the peers run nothing, so what they would have produced is put there beforehand.
#include <stdexcept>

#include "kernels/memory/check.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

class HostLink final : public SymmetricMemory {
 public:
  HostLink(int ranks, int device) : ranks_(ranks), device_(device) {
    if (ranks < 2) throw std::invalid_argument("a host link joins at least 2 ranks");
    WEFT_CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device));
    int atomics = 0;
    WEFT_CUDA(cudaDeviceGetAttribute(&atomics, cudaDevAttrHostNativeAtomicSupported, device));
    atomics_ = atomics != 0;
  }

  Backend backend() const override { return Backend::host_link; }
  int ranks() const override { return ranks_; }
  bool runs(int rank) const override { return rank == 0; }
  int device(int) const override { return device_; }
  int sms(int rank) const override { return rank == 0 ? sms_ : 0; }
  cudaStream_t stream(int rank, StreamRole role) const override {
    if (rank != 0) throw std::invalid_argument("a host peer has no streams");
    return streams_.get(role);
  }
  Region allocate(std::size_t bytes) override {
    Region region;
    region.bytes = bytes;
    region.at.push_back(memory_.on_device(bytes));
    for (int rank = 1; rank < ranks_; ++rank) region.at.push_back(memory_.on_host(bytes));
    return region;
  }
  bool has_link_atomics(int from, int to) const override { return from == to || atomics_; }
  void copy(void* target, int, const void* source, int, std::size_t bytes,
            cudaStream_t stream) override {
    WEFT_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream));
  }
  void barrier() override { streams_.synchronize(); }

 private:
  int ranks_;
  int device_;
  int sms_ = 0;
  bool atomics_ = false;
  Allocations memory_;
  RankStreams streams_;
};

}  // namespace

std::unique_ptr<SymmetricMemory> make_host_link(int ranks, int device) {
  WEFT_CUDA(cudaSetDevice(device));
  return std::make_unique<HostLink>(ranks, device);
}

}  // namespace weft::kernels
