// SPDX-License-Identifier: Apache-2.0
// Ranks that are SM partitions of one device, by green contexts: SMs and work queues are their own;
// L2, HBM and copy engines are shared, so "peer" traffic is traffic of one memory.
#include <array>
#include <stdexcept>
#include <vector>

#include "kernels/memory/check.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

class VirtualRanks final : public SymmetricMemory {
 public:
  VirtualRanks(int ranks, int device) : device_(device) {
    if (driver_.green_context_create == nullptr || driver_.green_context_stream_create == nullptr)
      throw std::runtime_error("this driver has no green contexts, which virtual ranks need");
    CUdevResource all{};
    CUdevice handle = 0;
    WEFT_DRIVER(driver_.device_get(&handle, device));
    WEFT_DRIVER(driver_.device_get_resource(handle, &all, CU_DEV_RESOURCE_TYPE_SM));
    // Partitions of 8 SMs or a multiple keep whole clusters of Hopper together.
    constexpr int kAlignment = 8;
    const int each = partition_sms(static_cast<int>(all.sm.smCount), ranks, kAlignment);
    unsigned int groups = static_cast<unsigned int>(ranks);
    std::vector<CUdevResource> parts(groups);
    CUdevResource rest{};
    WEFT_DRIVER(driver_.sm_resource_split_by_count(parts.data(), &groups, &all, &rest, 0,
                                                   static_cast<unsigned int>(each)));
    if (groups < static_cast<unsigned int>(ranks))
      throw std::runtime_error("the driver made fewer partitions than ranks");
    for (CUdevResource& part : parts) add_rank(part, handle);
  }
  ~VirtualRanks() override {
    streams_.clear();
    for (CUgreenCtx context : contexts_) static_cast<void>(driver_.green_context_destroy(context));
  }

  Backend backend() const override { return Backend::virtual_ranks; }
  int ranks() const override { return static_cast<int>(contexts_.size()); }
  bool runs(int) const override { return true; }
  int device(int) const override { return device_; }
  int sms(int rank) const override { return sms_.at(static_cast<std::size_t>(rank)); }
  cudaStream_t stream(int rank, StreamRole role) const override {
    return streams_.at(static_cast<std::size_t>(rank)).get(role);
  }
  Region allocate(std::size_t bytes) override {
    Region region;
    region.bytes = bytes;
    for (int rank = 0; rank < ranks(); ++rank) region.at.push_back(memory_.on_device(bytes));
    return region;
  }
  bool has_link_atomics(int, int) const override { return true; }
  void copy(void* target, int, const void* source, int, std::size_t bytes,
            cudaStream_t stream) override {
    WEFT_CUDA(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  void barrier() override {
    for (const RankStreams& streams : streams_) streams.synchronize();
  }

 private:
  void add_rank(CUdevResource& part, CUdevice handle) {
    CUdevResourceDesc description{};
    WEFT_DRIVER(driver_.resource_generate_desc(&description, &part, 1));
    CUgreenCtx context{};
    WEFT_DRIVER(
        driver_.green_context_create(&context, description, handle, CU_GREEN_CTX_DEFAULT_STREAM));
    contexts_.push_back(context);
    sms_.push_back(static_cast<int>(part.sm.smCount));
    int least = 0;
    int greatest = 0;
    WEFT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    std::array<cudaStream_t, 3> made{};
    for (std::size_t i = 0; i < made.size(); ++i)
      WEFT_DRIVER(driver_.green_context_stream_create(&made[i], context, CU_STREAM_NON_BLOCKING,
                                                      i == 0 ? least : greatest));
    streams_.emplace_back(made);
  }

  int device_;
  std::vector<CUgreenCtx> contexts_;
  std::vector<int> sms_;
  std::vector<RankStreams> streams_;
  Allocations memory_;
};

}  // namespace

std::unique_ptr<SymmetricMemory> make_virtual_ranks(int ranks, int device) {
  WEFT_CUDA(cudaSetDevice(device));
  WEFT_CUDA(cudaFree(nullptr));
  return std::make_unique<VirtualRanks>(ranks, device);
}

}  // namespace weft::kernels
