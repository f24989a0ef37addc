// SPDX-License-Identifier: Apache-2.0
#include "kernels/baseline/nccl_windows.hpp"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/baseline/nccl_buffers.hpp"
#include "kernels/baseline/nccl_pointers.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/memory/driver.hpp"
#include "kernels/memory/streams.hpp"

namespace weft::kernels {
namespace {

/// Windows of a group of their own, closed together.
class Windows {
 public:
  Windows(const Nccl& nccl, std::vector<int> devices)
      : group_(nccl, devices), devices_(std::move(devices)), driver_(load_driver()) {}
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  Region allocate(std::size_t bytes) {
    const NcclBuffers& own =
        *buffers_.emplace_back(std::make_unique<NcclBuffers>(group_, devices_, bytes));
    Region region;
    region.bytes = bytes;
    region.at = pointers_of(own.window(0));
    share(region.at, own.bytes());
    for (int rank = 0; rank < static_cast<int>(devices_.size()); ++rank)
      prove(region.at[static_cast<std::size_t>(rank)], own.at(rank));
    return region;
  }

 private:
  /// Where the first rank sees every rank's part.
  std::vector<std::byte*> pointers_of(void* handle) {
    std::vector<std::byte*> pointers(devices_.size());
    WEFT_CUDA(cudaSetDevice(devices_.front()));
    Allocations seen;
    auto** list =
        reinterpret_cast<std::byte**>(seen.on_device(pointers.size() * sizeof(std::byte*)));
    launch_window_pointers(handle, static_cast<int>(pointers.size()), list, nullptr);
    WEFT_CUDA(
        cudaMemcpy(pointers.data(), list, pointers.size() * sizeof pointers[0], cudaMemcpyDefault));
    return pointers;
  }

  /// NCCL maps a window for each rank at addresses of that rank's own. All ranks are in this process, and
  /// may as well use the first one's.
  void share(const std::vector<std::byte*>& pointers, std::size_t bytes) {
    std::vector<CUmemAccessDesc> access;
    for (const int device : devices_)
      access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    for (std::byte* pointer : pointers)
      WEFT_DRIVER(driver_.memory_set_access(reinterpret_cast<CUdeviceptr>(pointer), bytes,
                                            access.data(), access.size()));
  }

  /// Both show the same memory, which is left zeroed: the layout of a window is NCCL's to change.
  static void prove(std::byte* seen, std::byte* owned) {
    constexpr std::uint64_t kMark = 0x5765'6674'2057'696e;
    std::uint64_t read = 0;
    WEFT_CUDA(cudaMemcpy(owned, &kMark, sizeof kMark, cudaMemcpyDefault));
    WEFT_CUDA(cudaMemcpy(&read, seen, sizeof read, cudaMemcpyDefault));
    if (read != kMark) throw std::runtime_error("a window of NCCL does not show its memory");
    WEFT_CUDA(cudaMemset(owned, 0, sizeof kMark));
    WEFT_CUDA(cudaDeviceSynchronize());
  }

  NcclGroup group_;
  std::vector<int> devices_;
  Driver driver_;
  std::vector<std::unique_ptr<NcclBuffers>> buffers_;  ///< last: they close before the group ends
};

}  // namespace

std::string windows_missing(const Nccl& nccl) {
  const int compiled = window_interface_version();
  if (compiled == 0) return "NCCL's device interface was not there when this was compiled";
  // The interface is inline code: it fits the library of its own release and its patches.
  if (nccl.version() / 100 != compiled / 100)
    return "this was compiled for NCCL " + std::to_string(compiled) + ", and NCCL " +
           std::to_string(nccl.version()) + " is here";
  return {};
}

std::unique_ptr<SymmetricMemory> make_window_peers(const Nccl& nccl,
                                                   const std::vector<int>& devices) {
  if (const std::string missing = windows_missing(nccl); !missing.empty())
    throw std::runtime_error(missing);
  auto windows = std::make_shared<Windows>(nccl, devices);
  return make_peer_gpus(devices, [windows](std::size_t bytes) { return windows->allocate(bytes); });
}

}  // namespace weft::kernels
