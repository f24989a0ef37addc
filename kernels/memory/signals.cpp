// SPDX-License-Identifier: Apache-2.0
// Stream memory operations on 32-bit signals, the same for every back end.
#include "kernels/memory/check.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {

void SymmetricMemory::enter(int rank) const {
  WEFT_CUDA(cudaSetDevice(device(rank)));
}

void SymmetricMemory::post(Signal* signal, Signal value, cudaStream_t stream) const {
  WEFT_DRIVER(driver_.stream_write_value_32(stream, reinterpret_cast<CUdeviceptr>(signal), value,
                                            CU_STREAM_WRITE_VALUE_DEFAULT));
}

void SymmetricMemory::wait(const Signal* signal, Signal value, cudaStream_t stream) const {
  WEFT_DRIVER(driver_.stream_wait_value_32(stream, reinterpret_cast<CUdeviceptr>(signal), value,
                                           CU_STREAM_WAIT_VALUE_GEQ));
}

}  // namespace weft::kernels
