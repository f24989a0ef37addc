// SPDX-License-Identifier: Apache-2.0
// From a machine's description to the value that the engine runs on, for the ranks that a program uses.
//
// Only the devices that hold a rank, their host memories and the fabric between them are built, so that eight
// ranks of a 72-GPU rack cost what eight ranks cost. Costs that are measured (launches, copy engines,
// interference) are not a topology's business: models/ sets them from a profile.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/machine.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::topology {

/// Where one rank sits. Ranks of one device share it in `shares` equal parts.
struct RankPlace {
  std::int64_t node = 0;
  std::int64_t device = 0;  ///< of the node
  int share = 0;
  int shares = 1;
  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

/// Ranks 0..n-1 on devices in order: a group of neighbours stays inside a node. The good order.
[[nodiscard]] std::vector<RankPlace> packed_places(const MachineSpec& spec, std::int64_t ranks);
/// Ranks dealt to `nodes` nodes in turn, so that neighbours never share a node; 0: to as many as `ranks` fill.
[[nodiscard]] std::vector<RankPlace> scattered_places(const MachineSpec& spec, std::int64_t ranks,
                                                      std::int64_t nodes = 0);

/// Slows a part: a rank's device ("rank3"), a device ("node0.gpu3") or a link ("node0.gpu0->node0.nvswitch").
struct Override {
  std::string part;
  std::int64_t speed_permille = 1000;  ///< of its capacity
  friend bool operator==(const Override&, const Override&) = default;
};

/// What a rank's memories are called in the machine: the device's own and the nearest host memory.
struct RankMemories {
  sim::MemoryId device;
  sim::MemoryId host;
};

struct Built {
  sim::Machine machine;
  std::vector<RankMemories> memories;  ///< by rank
  std::vector<std::vector<sim::RouteId>>
      unicast;                          ///< [from rank][to rank]; own entry: within its memory
  std::vector<sim::RouteId> from_host;  ///< by rank
  std::vector<sim::RouteId> to_host;
  std::vector<sim::RouteId> multicast;  ///< by root rank; empty where no switch can
  std::vector<sim::RouteId> reduce;
  std::vector<std::int64_t> node_of_rank;
  std::vector<std::string> device_names;  ///< by rank, "node0.gpu3"
};

/// Builds the machine of these ranks, one process each. Throws topology::BuildError with every fault found:
/// places that do not exist, ranks between which there is no route, overrides of unknown parts.
[[nodiscard]] Built build(const MachineSpec& spec, const std::vector<RankPlace>& places,
                          const std::vector<Override>& overrides = {});

class BuildError : public std::runtime_error {
 public:
  explicit BuildError(std::vector<std::string> faults);
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::vector<std::string> faults_;
};

/// Splits a device's SMs into `shares` equal parts, in pieces of GPCs as a driver splits them, and returns part
/// `share`; what is left of the device belongs to none.
[[nodiscard]] std::vector<int> sms_of_share(const std::vector<int>& sms_per_gpc, int share,
                                            int shares);

}  // namespace weft::topology
