// SPDX-License-Identifier: Apache-2.0
// A kernel that keeps SMs to itself for a while, so that another kernel's last CTAs are late.
#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace weft::kernels::test {

class Blocker {
 public:
  Blocker();
  ~Blocker();
  Blocker(const Blocker&) = delete;
  Blocker& operator=(const Blocker&) = delete;
  /// Occupies `ctas` SMs for `nanoseconds`; returns once they are resident.
  void hold(int ctas, std::int64_t nanoseconds, cudaStream_t stream);

 private:
  int* resident_ = nullptr;  ///< in pinned memory
};

}  // namespace weft::kernels::test
