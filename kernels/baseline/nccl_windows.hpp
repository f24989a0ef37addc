// SPDX-License-Identifier: Apache-2.0
// Peer GPUs by NCCL's windows: buffers that NCCL maps for the whole group at addresses that its device
// interface gives out (LSA pointers). Needs NCCL 2.28 both where this is compiled and where it runs.
#pragma once

#include <memory>
#include <vector>

#include "kernels/baseline/nccl.hpp"
#include "kernels/memory/symmetric_memory.hpp"

namespace weft::kernels {

/// Why windows cannot be had with this NCCL, or nothing where they can.
std::string windows_missing(const Nccl& nccl);

/// One rank a device, all in this process, over memory in windows; throws where that cannot be had. `nccl`
/// must outlive it.
std::unique_ptr<SymmetricMemory> make_window_peers(const Nccl& nccl,
                                                   const std::vector<int>& devices);

}  // namespace weft::kernels
