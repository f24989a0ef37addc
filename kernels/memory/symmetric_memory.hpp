// SPDX-License-Identifier: Apache-2.0
// One interface over every way in which ranks reach each other's memory: buffers at the same place on
// each rank, signals, streams, a copy path and a barrier. Kernels see peer pointers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/memory/driver.hpp"
#include "kernels/sm90/options.hpp"

namespace weft::kernels {

/// How the ranks of a group reach each other.
enum class Backend : std::uint8_t { host_link, virtual_ranks, nccl_processes, peer_gpus };

/// The name that samples and suites use for a back end.
std::string_view name(Backend backend);

/// What a stream of a rank is for; communication and copy streams have the higher priority.
enum class StreamRole : std::uint8_t { compute, communication, copy };

/// The same number of bytes on each rank; `at[r]` is null where rank r cannot be addressed from here.
struct Region {
  std::vector<std::byte*> at;
  std::size_t bytes = 0;

  /// The address of element `index` on `rank`.
  template <typename T>
  T* as(int rank, std::size_t index = 0) const {
    return reinterpret_cast<T*>(at.at(static_cast<std::size_t>(rank))) + index;
  }
};

/// A group of ranks and the memory that they share; it owns its regions and streams.
class SymmetricMemory {
 public:
  virtual ~SymmetricMemory() = default;
  SymmetricMemory() = default;
  SymmetricMemory(const SymmetricMemory&) = delete;
  SymmetricMemory& operator=(const SymmetricMemory&) = delete;

  virtual Backend backend() const = 0;
  virtual int ranks() const = 0;
  /// True where this process launches the rank's kernels; a host peer runs nothing.
  virtual bool runs(int rank) const = 0;
  /// The device that runs the rank's kernels.
  virtual int device(int rank) const = 0;
  /// The SMs that the rank's kernels may fill: those of its partition, not of its device.
  virtual int sms(int rank) const = 0;
  virtual cudaStream_t stream(int rank, StreamRole role) const = 0;
  /// `bytes` on each rank, zeroed, aligned to 1024 bytes, freed with the group.
  virtual Region allocate(std::size_t bytes) = 0;
  /// True where a reduce-add from one rank into the other's memory is atomic on the link.
  virtual bool has_link_atomics(int from, int to) const = 0;
  /// Moves bytes between two ranks' memories by a copy engine (or the back end's own transport).
  virtual void copy(void* target, int to, const void* source, int from, std::size_t bytes,
                    cudaStream_t stream) = 0;
  /// Returns when the work of every rank that this process runs is done, on all its streams.
  virtual void barrier() = 0;

  /// Makes the rank's device current for the calling thread.
  void enter(int rank) const;
  /// Writes `value` to a signal when the stream gets there, after all earlier work of the stream.
  void post(Signal* signal, Signal value, cudaStream_t stream) const;
  /// Holds the stream until the signal has reached `value` (sequence numbers may wrap).
  void wait(const Signal* signal, Signal value, cudaStream_t stream) const;

 protected:
  Driver driver_ = load_driver();
};

/// Rank 0 is `device`; the others are pinned host memory behind its PCIe link, and run nothing.
std::unique_ptr<SymmetricMemory> make_host_link(int ranks, int device = 0);

/// 2, 4 or 8 partitions of the SMs of one device by green contexts, each a rank; split once.
std::unique_ptr<SymmetricMemory> make_virtual_ranks(int ranks, int device = 0);

/// Rank `rank` of a group whose others are processes of their own, perhaps on the same device.
std::unique_ptr<SymmetricMemory> make_process_rank(int rank, int ranks, int device = 0);

/// How peer GPUs come to address each other's buffers: whatever a device allocates, by peer access, or
/// each buffer for itself, mapped for the group by virtual memory management.
enum class PeerMapping : std::uint8_t { access, mapped };

/// One rank a device, all in this process; throws where two of them cannot address each other.
std::unique_ptr<SymmetricMemory> make_peer_gpus(const std::vector<int>& devices,
                                                PeerMapping mapping = PeerMapping::access);

/// The same over buffers that `allocate` makes, zeroed, at addresses that hold on every device.
std::unique_ptr<SymmetricMemory> make_peer_gpus(const std::vector<int>& devices,
                                                std::function<Region(std::size_t)> allocate);

/// The SMs of each of `ranks` equal partitions of a device: the largest power of two that is a multiple
/// of `alignment` and fits `ranks` times; throws std::invalid_argument where none does.
int partition_sms(int device_sms, int ranks, int alignment);

/// Picks a back end for a group: peer GPUs where there are enough devices, virtual ranks otherwise.
Backend choose_backend(int ranks, int devices, bool all_pairs_reachable);

}  // namespace weft::kernels
