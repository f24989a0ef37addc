// SPDX-License-Identifier: Apache-2.0
// Device memory by the driver's virtual memory management: physical memory of one device, mapped where
// every device of a group may read and write it, without peer access for all that its owner allocates.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/memory/driver.hpp"

namespace weft::kernels {

/// Mappings that are undone together.
class MappedMemory {
 public:
  /// For devices that address each other; `driver` must outlive it.
  MappedMemory(const Driver& driver, std::vector<int> devices);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  /// True where the driver can do it.
  static bool possible(const Driver& driver) { return driver.memory_create != nullptr; }
  /// Zeroed bytes of `device` at an address that holds on every device of the group.
  std::byte* on(int device, std::size_t bytes);

 private:
  struct Piece {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle handle = 0;
  };
  const Driver& driver_;
  std::vector<int> devices_;
  std::vector<Piece> pieces_;
};

}  // namespace weft::kernels
