// SPDX-License-Identifier: Apache-2.0
// NCCL, opened at run time, so that everything builds and starts where it is not. NVLink multicast stays
// off: a program that uses it can put GPUs which others share out of service.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime.h>

namespace weft::kernels {

/// The collectives that NCCL is asked for, on bf16.
enum class NcclOperation : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all };

/// The library.
class Nccl {
 public:
  /// Opens it; throws std::runtime_error that says what was looked for.
  Nccl();
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  /// Its version, e.g. 22807 for 2.28.7.
  int version() const;

  struct Table;
  const Table& table() const { return *table_; }

 private:
  std::unique_ptr<const Table> table_;
};

/// What joins processes to one communicator; made by one of them and carried to the others.
using NcclId = std::array<char, 128>;

/// Returns a new id.
NcclId nccl_id(const Nccl& nccl);

/// Communicators of ranks that run in this process.
class NcclGroup {
 public:
  /// One rank a device, all in this process.
  NcclGroup(const Nccl& nccl, const std::vector<int>& devices);
  /// Rank `rank` of `ranks`, the others in processes of their own; on the current device.
  NcclGroup(const Nccl& nccl, const NcclId& id, int ranks, int rank);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  /// One rank's share of a collective.
  struct Share {
    const void* send = nullptr;
    void* receive = nullptr;
    cudaStream_t stream = nullptr;
  };
  /// Enqueues a collective whose whole message is `bytes` on every rank of this process; shares are in
  /// the order of its ranks. Messages are cut evenly into ranks: `bytes` is a multiple of 2 * ranks.
  void enqueue(NcclOperation operation, std::int64_t bytes, const std::vector<Share>& shares) const;

  /// Memory of the current device that a window can be opened on, and its return.
  std::byte* allocate(std::size_t bytes) const;
  void free(std::byte* memory) const;
  /// Opens a window on a rank's memory; all ranks at the same time, each from a thread of its own.
  void* open_window(int rank, std::byte* memory, std::size_t bytes) const;
  /// Closes it, likewise.
  void close_window(int rank, void* window) const;

  /// What went wrong without anybody having called, e.g. a rank that is gone; empty where nothing did.
  std::string failure() const;
  /// Ends whatever the communicators' kernels wait for, and the communicators; from any thread, once.
  void abort();

 private:
  const Nccl& nccl_;
  int ranks_ = 0;
  std::vector<void*> communicators_;
};

}  // namespace weft::kernels
