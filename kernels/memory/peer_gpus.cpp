// SPDX-License-Identifier: Apache-2.0
// One rank a device, every device addressing every other's memory (NVLink, or PCIe peer to peer).
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/memory/check.hpp"
#include "kernels/memory/mapped.hpp"
#include "kernels/memory/streams.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {
namespace {

class PeerGpus final : public SymmetricMemory {
 public:
  PeerGpus(const std::vector<int>& devices, std::function<Region(std::size_t)> allocate)
      : devices_(devices), allocate_(std::move(allocate)) {
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
  }

  Backend backend() const override { return Backend::peer_gpus; }
  int ranks() const override { return static_cast<int>(devices_.size()); }
  bool runs(int) const override { return true; }
  int device(int rank) const override { return devices_.at(static_cast<std::size_t>(rank)); }
  int sms(int rank) const override { return sms_.at(static_cast<std::size_t>(rank)); }
  cudaStream_t stream(int rank, StreamRole role) const override {
    return streams_.at(static_cast<std::size_t>(rank)).get(role);
  }
  Region allocate(std::size_t bytes) override { return allocate_(bytes); }
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
  std::function<Region(std::size_t)> allocate_;
};

/// A buffer a device, by what allocates on one.
template <class On>
std::function<Region(std::size_t)> one_each(const std::vector<int>& devices, const On& on) {
  return [devices, on](std::size_t bytes) {
    Region region;
    region.bytes = bytes;
    for (const int device : devices) {
      WEFT_CUDA(cudaSetDevice(device));
      region.at.push_back(on(device, bytes));
    }
    return region;
  };
}

/// The driver's functions, kept with the mappings that they undo.
struct Mapping {
  explicit Mapping(const std::vector<int>& devices) : memory(driver, devices) {}
  Driver driver = load_driver();
  MappedMemory memory;
};

}  // namespace

std::unique_ptr<SymmetricMemory> make_peer_gpus(const std::vector<int>& devices,
                                                PeerMapping mapping) {
  if (mapping == PeerMapping::mapped) {
    auto mapped = std::make_shared<Mapping>(devices);
    return make_peer_gpus(devices, one_each(devices, [mapped](int device, std::size_t bytes) {
                            return mapped->memory.on(device, bytes);
                          }));
  }
  auto plain = std::make_shared<Allocations>();
  return make_peer_gpus(devices, one_each(devices, [plain](int, std::size_t bytes) {
                          return plain->on_device(bytes);
                        }));
}

std::unique_ptr<SymmetricMemory> make_peer_gpus(const std::vector<int>& devices,
                                                std::function<Region(std::size_t)> allocate) {
  return std::make_unique<PeerGpus>(devices, std::move(allocate));
}

}  // namespace weft::kernels
