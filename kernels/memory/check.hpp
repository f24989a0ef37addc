// SPDX-License-Identifier: Apache-2.0
// Turns a failing CUDA call into an exception that quotes the call.
#pragma once

#include <stdexcept>
#include <string>

#include <cuda.h>
#include <cuda_runtime.h>

namespace weft::kernels {

/// A CUDA, driver, NCCL or cuBLASLt call that failed, with the text of the call and where it stands.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& call, const std::string& reason, const char* file, int line)
      : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           reason) {}
};

inline void check_runtime(cudaError_t status, const char* call, const char* file, int line) {
  if (status != cudaSuccess) throw DeviceError(call, cudaGetErrorString(status), file, line);
}

inline void check_driver(CUresult status, const char* call, const char* file, int line) {
  if (status != CUDA_SUCCESS)
    throw DeviceError(call, "driver error " + std::to_string(static_cast<int>(status)), file, line);
}

}  // namespace weft::kernels

#define WEFT_CUDA(call) ::weft::kernels::check_runtime((call), #call, __FILE__, __LINE__)
#define WEFT_DRIVER(call) ::weft::kernels::check_driver((call), #call, __FILE__, __LINE__)
