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
};

/// A group of ranks whose kernels are to be proved right.
struct Proof {
  std::string backend;  ///< peer_gpus, peer_gpus_mapped, virtual_ranks or host_link
  int ranks = 2;
  friend bool operator==(const Proof&, const Proof&) = default;
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
