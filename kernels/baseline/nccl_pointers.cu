// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/baseline/nccl_pointers.hpp"
#include "kernels/memory/check.hpp"

#if __has_include(<nccl_device.h>)
#include <nccl.h>
#if NCCL_VERSION_CODE >= 22800
#include <nccl_device.h>
#define WEFT_NCCL_DEVICE_INTERFACE 1
#endif
#endif

namespace weft::kernels {

#ifdef WEFT_NCCL_DEVICE_INTERFACE

namespace {

__global__ void window_pointers(ncclWindow_t window, int ranks, std::byte** pointers) {
  for (int rank = 0; rank < ranks; ++rank)
    pointers[rank] = static_cast<std::byte*>(ncclGetLsaPointer(window, 0, rank));
}

}  // namespace

int window_interface_version() {
  return NCCL_VERSION_CODE;
}

void launch_window_pointers(void* window, int ranks, std::byte** pointers, cudaStream_t stream) {
  window_pointers<<<1, 1, 0, stream>>>(static_cast<ncclWindow_t>(window), ranks, pointers);
  WEFT_CUDA(cudaGetLastError());
}

#else

int window_interface_version() {
  return 0;
}

void launch_window_pointers(void*, int, std::byte**, cudaStream_t) {
  throw std::runtime_error("NCCL's device interface was not there when this was compiled");
}

#endif

}  // namespace weft::kernels
