// SPDX-License-Identifier: Apache-2.0
// Memory of a group's ranks in one of NCCL's windows. Collectives of that group which send from and receive
// into windows run NCCL's symmetric kernels where it has them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kernels/baseline/nccl.hpp"

namespace weft::kernels {

/// The same number of bytes on each rank of a group in this process, in one window of the group; closed and
/// freed at the end.
class NcclBuffers {
 public:
  /// Rank r is devices[r]; the memory is zeroed. `group` must outlive it.
  NcclBuffers(const NcclGroup& group, std::vector<int> devices, std::size_t bytes);
  ~NcclBuffers();
  NcclBuffers(const NcclBuffers&) = delete;
  NcclBuffers& operator=(const NcclBuffers&) = delete;

  /// A rank's memory as the rank itself addresses it.
  std::byte* at(int rank) const { return owned_.at(static_cast<std::size_t>(rank)); }
  /// A rank's handle of the window.
  void* window(int rank) const { return windows_.at(static_cast<std::size_t>(rank)); }
  /// The bytes of a rank's memory, a multiple of the pages that NCCL maps.
  std::size_t bytes() const { return bytes_; }

 private:
  void each_rank(const std::function<void(int)>& work) const;
  void free() const;

  const NcclGroup& group_;
  std::vector<int> devices_;
  std::size_t bytes_;
  std::vector<std::byte*> owned_;
  std::vector<void*> windows_;
};

}  // namespace weft::kernels
