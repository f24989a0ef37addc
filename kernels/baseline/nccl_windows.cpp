// SPDX-License-Identifier: Apache-2.0
#include "kernels/baseline/nccl_windows.hpp"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "kernels/baseline/nccl_pointers.hpp"
#include "kernels/memory/check.hpp"
#include "kernels/memory/driver.hpp"
#include "kernels/memory/streams.hpp"

namespace weft::kernels {
namespace {

/// NCCL maps whole pages of this size; sizes that are multiples of it leave nothing over.
constexpr std::size_t kPage = std::size_t{2} << 20;

/// Windows of a group, closed together.
class Windows {
 public:
  Windows(const Nccl& nccl, std::vector<int> devices)
      : group_(nccl, devices), devices_(std::move(devices)), driver_(load_driver()) {}
  ~Windows() {
    for (const Window& window : windows_)
      static_cast<void>(
          each_rank([&](int rank) { group_.close_window(rank, window.handles[at(rank)]); }));
    for (const Window& window : windows_)
      for (std::byte* own : window.owned) group_.free(own);
  }
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  Region allocate(std::size_t bytes) {
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    Window& window = windows_.emplace_back();
    window.owned.resize(devices_.size());
    window.handles.resize(devices_.size());
    for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
      WEFT_CUDA(cudaSetDevice(devices_[rank]));
      window.owned[rank] = group_.allocate(whole);
      WEFT_CUDA(cudaMemset(window.owned[rank], 0, whole));
      WEFT_CUDA(cudaDeviceSynchronize());
    }
    // Every rank has to call at the same time: each does so from a thread of its own.
    const std::exception_ptr failure = each_rank([&](int rank) {
      window.handles[at(rank)] = group_.open_window(rank, window.owned[at(rank)], whole);
    });
    if (failure) std::rethrow_exception(failure);
    Region region;
    region.bytes = bytes;
    region.at = pointers_of(window.handles.front());
    share(region.at, whole);
    for (std::size_t rank = 0; rank < devices_.size(); ++rank)
      prove(region.at[rank], window.owned[rank]);
    return region;
  }

 private:
  struct Window {
    std::vector<std::byte*> owned;
    std::vector<void*> handles;
  };
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  /// Returns the first rank's failure, if any failed.
  template <class Work>
  std::exception_ptr each_rank(const Work& work) {
    std::vector<std::exception_ptr> failures(devices_.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < static_cast<int>(devices_.size()); ++rank)
      threads.emplace_back([&, rank] {
        try {
          WEFT_CUDA(cudaSetDevice(devices_[at(rank)]));
          work(rank);
        } catch (...) {
          failures[at(rank)] = std::current_exception();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) return failure;
    return nullptr;
  }

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
  std::vector<Window> windows_;
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
