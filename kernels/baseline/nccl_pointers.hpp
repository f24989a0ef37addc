// SPDX-License-Identifier: Apache-2.0
// What NCCL's device interface says of a window, asked by a kernel, since it is inline device code whose
// layout belongs to one version of NCCL.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

namespace weft::kernels {

/// The version of NCCL whose device interface was compiled in, e.g. 22809; 0: none.
int window_interface_version();

/// Writes where each of `ranks` ranks' part of a window lies, as the current device addresses it.
void launch_window_pointers(void* window, int ranks, std::byte** pointers, cudaStream_t stream);

}  // namespace weft::kernels
