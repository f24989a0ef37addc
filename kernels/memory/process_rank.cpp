// SPDX-License-Identifier: Apache-2.0
// One rank of a group whose others are processes of their own: only its own memory can be addressed, and
// what is moved between ranks goes by NCCL.
#include <stdexcept>
#include <string>

#include "kernels/memory/check.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

class ProcessRank final : public SymmetricMemory {
 public:
  ProcessRank(int rank, int ranks, int device) : rank_(rank), ranks_(ranks), device_(device) {
    if (rank < 0 || rank >= ranks)
      throw std::invalid_argument("there is no rank " + std::to_string(rank) + " of " +
                                  std::to_string(ranks));
    WEFT_CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, device));
  }

  Backend backend() const override { return Backend::nccl_processes; }
  int ranks() const override { return ranks_; }
  bool runs(int rank) const override { return rank == rank_; }
  int device(int) const override { return device_; }
  int sms(int rank) const override { return rank == rank_ ? sms_ : 0; }
  cudaStream_t stream(int rank, StreamRole role) const override {
    if (rank != rank_) throw std::invalid_argument("a rank of another process has its own streams");
    return streams_.get(role);
  }
  Region allocate(std::size_t bytes) override {
    Region region;
    region.bytes = bytes;
    region.at.resize(static_cast<std::size_t>(ranks_), nullptr);
    region.at[static_cast<std::size_t>(rank_)] = memory_.on_device(bytes);
    return region;
  }
  bool has_link_atomics(int from, int to) const override { return from == rank_ && to == rank_; }
  void copy(void* target, int to, const void* source, int from, std::size_t bytes,
            cudaStream_t stream) override {
    if (from != rank_ || to != rank_)
      throw std::invalid_argument("between processes nothing is copied: NCCL moves it");
    WEFT_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  void barrier() override { streams_.synchronize(); }

 private:
  int rank_;
  int ranks_;
  int device_;
  int sms_ = 0;
  Allocations memory_;
  RankStreams streams_;
};

}  // namespace

std::unique_ptr<SymmetricMemory> make_process_rank(int rank, int ranks, int device) {
  WEFT_CUDA(cudaSetDevice(device));
  return std::make_unique<ProcessRank>(rank, ranks, device);
}

}  // namespace weft::kernels
