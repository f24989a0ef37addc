// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory/mapped.hpp"

#include <stdexcept>
#include <utility>

#include <cuda_runtime.h>

#include "kernels/memory/check.hpp"

namespace weft::kernels {

MappedMemory::MappedMemory(const Driver& driver, std::vector<int> devices)
    : driver_(driver), devices_(std::move(devices)) {
  if (!possible(driver)) throw std::runtime_error("this driver cannot map memory piece by piece");
}

MappedMemory::~MappedMemory() {
  for (const Piece& piece : pieces_) {
    static_cast<void>(driver_.memory_unmap(piece.address, piece.bytes));
    static_cast<void>(driver_.address_free(piece.address, piece.bytes));
    static_cast<void>(driver_.memory_release(piece.handle));
  }
}

std::byte* MappedMemory::on(int device, std::size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  std::size_t granularity = 0;
  WEFT_DRIVER(
      driver_.memory_granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  Piece piece;
  piece.bytes = (bytes + granularity - 1) / granularity * granularity;
  WEFT_DRIVER(driver_.memory_create(&piece.handle, piece.bytes, &properties, 0));
  WEFT_DRIVER(driver_.address_reserve(&piece.address, piece.bytes, granularity, 0, 0));
  WEFT_DRIVER(driver_.memory_map(piece.address, piece.bytes, 0, piece.handle, 0));
  pieces_.push_back(piece);
  std::vector<CUmemAccessDesc> access;
  for (const int each : devices_)
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, each}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  WEFT_DRIVER(driver_.memory_set_access(piece.address, piece.bytes, access.data(), access.size()));
  auto* pointer = reinterpret_cast<std::byte*>(piece.address);
  WEFT_CUDA(cudaSetDevice(device));
  WEFT_CUDA(cudaMemset(pointer, 0, bytes));
  WEFT_CUDA(cudaDeviceSynchronize());
  return pointer;
}

}  // namespace weft::kernels
