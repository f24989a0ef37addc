// SPDX-License-Identifier: Apache-2.0
// One rank a device, every device addressing every other's memory (NVLink, or PCIe peer to peer).
#include <stdexcept>
#include <string>

#include "kernels/memory/check.hpp"
#include "kernels/memory/mapped.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

class PeerGpus final : public SymmetricMemory {
 public:
  PeerGpus(const std::vector<int>& devices, PeerMapping mapping) : devices_(devices) {
    if (devices.size() < 2) throw std::invalid_argument("peer GPUs are at least 2");
    for (const int from : devices) {
      WEFT_CUDA(cudaSetDevice(from));
      for (const int to : devices)
        if (from != to) connect(from, to);
      int sms = 0;
      WEFT_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, from));
      sms_.push_back(sms);
      streams_.emplace_back();
    }
    if (mapping == PeerMapping::mapped) mapped_ = std::make_unique<MappedMemory>(driver_, devices);
  }

  Backend backend() const override { return Backend::peer_gpus; }
  int ranks() const override { return static_cast<int>(devices_.size()); }
  bool runs(int) const override { return true; }
  int device(int rank) const override { return devices_.at(static_cast<std::size_t>(rank)); }
  int sms(int rank) const override { return sms_.at(static_cast<std::size_t>(rank)); }
  cudaStream_t stream(int rank, StreamRole role) const override {
    return streams_.at(static_cast<std::size_t>(rank)).get(role);
  }
  Region allocate(std::size_t bytes) override {
    Region region;
    region.bytes = bytes;
    for (int rank = 0; rank < ranks(); ++rank) {
      enter(rank);
      region.at.push_back(mapped_ ? mapped_->on(device(rank), bytes) : memory_.on_device(bytes));
    }
    return region;
  }
  bool has_link_atomics(int from, int to) const override {
    if (from == to) return true;
    int supported = 0;
    WEFT_CUDA(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrNativeAtomicSupported,
                                        device(from), device(to)));
    return supported != 0;
  }
  void copy(void* target, int to, const void* source, int from, std::size_t bytes,
            cudaStream_t stream) override {
    WEFT_CUDA(cudaMemcpyPeerAsync(target, device(to), source, device(from), bytes, stream));
  }
  void barrier() override {
    for (int rank = 0; rank < ranks(); ++rank) {
      enter(rank);
      streams_.at(static_cast<std::size_t>(rank)).synchronize();
    }
  }

 private:
  static void connect(int from, int to) {
    int reachable = 0;
    WEFT_CUDA(cudaDeviceCanAccessPeer(&reachable, from, to));
    if (reachable == 0)
      throw std::runtime_error("device " + std::to_string(from) + " cannot address device " +
                               std::to_string(to));
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled)
      static_cast<void>(cudaGetLastError());
    else
      WEFT_CUDA(status);
  }

  std::vector<int> devices_;
  std::vector<int> sms_;
  std::vector<RankStreams> streams_;
  Allocations memory_;
  std::unique_ptr<MappedMemory> mapped_;
};

}  // namespace

std::unique_ptr<SymmetricMemory> make_peer_gpus(const std::vector<int>& devices,
                                                PeerMapping mapping) {
  return std::make_unique<PeerGpus>(devices, mapping);
}

}  // namespace weft::kernels
