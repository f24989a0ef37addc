// SPDX-License-Identifier: Apache-2.0
// What to prove and to measure on a machine that nobody has measured yet, decided from its GPUs alone. No
// CUDA here, so that machines which are not at hand are planned for in tests.
#pragma once

#include <string>
#include <vector>

namespace weft::kernels {

/// The GPUs of one machine, as the driver sees them.
struct MachineView {
  int devices = 0;
  /// By device, by other device: whether it can address the other's memory.
  std::vector<std::vector<bool>> reaches;
  bool nccl_windows = false;    ///< NCCL is here, and can map buffers for a group
  bool nccl_processes = false;  ///< NCCL is here, and processes can share a GPU at the same time
};

/// A group of ranks whose kernels are to be proved right.
struct Proof {
  /// peer_gpus, peer_gpus_mapped, peer_gpus_window, virtual_ranks, host_link or nccl_processes
  std::string backend;
  int ranks = 2;
  friend bool operator==(const Proof&, const Proof&) = default;
};

/// What a proof found.
struct Verdicts {
  int right = 0;
  double worst = 0;                ///< error over its tolerance, of what was right
  std::vector<std::string> wrong;  ///< one line for each cell that was not
};

/// What a bring-up does, in this order.
struct BringUp {
  std::vector<Proof> proofs;
  std::vector<std::string> suites;
  std::vector<int> ranks;             ///< group sizes that the suites are measured with
  std::vector<std::string> warnings;  ///< what keeps larger groups from being formed
};

/// Groups of 2, then 4, then 8 GPUs where the first so many address each other, SM partitions of one GPU
/// in their place where there are fewer; then the suites of the links that are there.
BringUp plan_bring_up(const MachineView& machine);

}  // namespace weft::kernels
