// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/bring_up.hpp"

namespace weft::kernels {
namespace {

/// The first pair of the first `ranks` devices that do not address each other, or nothing.
std::string missing_pair(const MachineView& machine, int ranks) {
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to &&
          !machine.reaches.at(static_cast<std::size_t>(from)).at(static_cast<std::size_t>(to)))
        return "GPU " + std::to_string(from) + " cannot address GPU " + std::to_string(to);
  return {};
}

}  // namespace

BringUp plan_bring_up(const MachineView& machine) {
  BringUp plan;
  if (machine.devices == 0) {
    plan.warnings.emplace_back("there is no GPU");
    return plan;
  }
  for (const int ranks : {2, 4, 8}) {
    if (machine.devices < ranks) {
      plan.proofs.push_back({"virtual_ranks", ranks});
      continue;
    }
    if (const std::string missing = missing_pair(machine, ranks); !missing.empty()) {
      plan.warnings.push_back("no group of " + std::to_string(ranks) + ": " + missing);
      plan.proofs.push_back({"virtual_ranks", ranks});
      continue;
    }
    plan.proofs.push_back({"peer_gpus", ranks});
    plan.proofs.push_back({"peer_gpus_mapped", ranks});
    if (machine.nccl_windows) plan.proofs.push_back({"peer_gpus_window", ranks});
    plan.ranks.push_back(ranks);
  }
  plan.proofs.push_back({"host_link", 2});
  // With a GPU for each rank NCCL has its cells in the groups above.
  if (plan.ranks.empty() && machine.nccl_processes) {
    plan.proofs.push_back({"nccl_processes", 2});
    plan.proofs.push_back({"nccl_processes", 4});
  }
  if (plan.ranks.empty())
    plan.suites = {"virtual"};
  else
    plan.suites = {"peer-primitives", "peer-waits",    "peer-collectives",
                   "peer-boundary",   "peer-decision", "peer-interference"};
  if (!plan.ranks.empty() && machine.nccl_windows) plan.suites.emplace_back("peer-windows");
  if (plan.ranks.empty() && machine.nccl_processes)
    plan.suites.insert(plan.suites.end(), {"nccl-processes", "nccl-beside"});
  return plan;
}

}  // namespace weft::kernels
