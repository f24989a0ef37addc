// SPDX-License-Identifier: Apache-2.0
// What a collective costs alone, by algorithm, protocol and transport, and what it asks of ports
// and memory so that the engine can run it as one gang.
//
//   time(S) = base + local hops * hop + node hops * network hop + max(0, S - slack) / rate
//   ring:    steps w = p-1 (all-gather, reduce-scatter) or 2(p-1) (all-reduce); rate = p W / (w +
//   local) direct:  p-1 peers at once: one hop, the same bytes tree:    2 log2 p hops, all-reduce
//   only; rate = W / 2 per tree edge nvls:    the switch reduces and multicasts: two hops, (p+1)/p
//   bytes a port hierarchical: reduce-scatter inside the node, all-reduce over the rails,
//   all-gather inside; collnet: the same with a sum in the network's switches: a message up and one down a node
//
// S is the message as nccl-tests defines it; W is the wire rate of one GPU and direction under the
// protocol. `local` is the copy of a rank's own shard, of the switch the copies of the whole message.
// Up to the slack, of every rank's shard or of all peers' together, a message costs no time of its own:
// the library adds channels instead. With base, slack and local zero, a ring all-reduce is
// 2(p-1)(hop + S/(pW)). Every cost is monotone in bytes; what the library takes (nccl_choice.hpp) need
// not be where it changes hands. Ignored: the L2's help for messages that fit it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/profile/profile.hpp"

namespace weft::model {

/// Who moves the bytes.
enum class Transport : std::uint8_t { copy_engine, sm, fabric_switch, nic };

inline constexpr Transport every_transport[] = {Transport::copy_engine, Transport::sm,
                                                Transport::fabric_switch, Transport::nic};
[[nodiscard]] std::string_view name_of(Transport transport);

/// The links that the ranks of one collective share; rates of one direction.
struct Fabric {
  Bandwidth gpu_per_direction;  ///< a GPU's links inside the node
  Duration gpu_latency;         ///< of a path between two GPUs of one node
  bool switch_reduces = false;  ///< NVLS: the switch reduces and multicasts
  /// A GPU's links to that switch; zero: those that it has to its peers.
  Bandwidth switch_per_direction{};
  bool network_reduces = false;  ///< SHARP: so do the switches between the nodes
  Bandwidth nic_per_direction;   ///< one NIC; zero: no network
  std::int64_t nics_per_node = 0;
  Duration nic_latency;

  /// A GPU's links as a collective of this algorithm uses them.
  [[nodiscard]] Bandwidth port(CollectiveAlgorithm algorithm) const {
    const bool trees =
        algorithm == CollectiveAlgorithm::nvls && switch_per_direction != Bandwidth();
    return trees ? switch_per_direction : gpu_per_direction;
  }
  friend bool operator==(const Fabric&, const Fabric&) = default;
};

struct CollectiveProblem {
  CollectiveOp op = CollectiveOp::all_reduce;
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;  ///< that the ranks are spread over, evenly
  /// Ring edges that leave a node, of `ranks`: the node count if neighbours are placed together,
  /// all of the ranks if every neighbour is on another node.
  std::int64_t crossings = 0;
  DType dtype = DType::bf16;
  friend bool operator==(const CollectiveProblem&, const CollectiveProblem&) = default;

  static CollectiveProblem in_node(CollectiveOp op, std::int64_t ranks) {
    return {.op = op, .ranks = ranks};
  }
  [[nodiscard]] std::int64_t ranks_per_node() const { return ranks / nodes; }
};

/// numerator / CollectiveCost::denominator bytes on a resource for each byte of the message.
struct PerByte {
  std::int64_t hbm_read = 0, hbm_write = 0;
  std::int64_t egress = 0, ingress = 0;          ///< each rank's port into the node's fabric
  std::int64_t nic_egress = 0, nic_ingress = 0;  ///< each rank's share of its node's NICs
  friend bool operator==(const PerByte&, const PerByte&) = default;
};

struct CollectiveCost {
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  Transport transport = Transport::sm;
  std::int64_t ctas = 0;  ///< on each rank; 0 for copy engines and NICs
  std::int64_t threads_per_cta = 0;
  std::int64_t steps = 0;        ///< hops one after the other
  Duration base;                 ///< launch and joining of the ranks
  Duration step_latency;         ///< of one hop
  Duration floor;                ///< base and every hop: what an empty message costs
  Bytes slack;                   ///< of the message: free above the floor
  Bandwidth rate_cap;            ///< message bytes a second above the slack (algbw at infinity)
  std::int64_t denominator = 1;  ///< of the coefficients: the ranks
  PerByte per_byte;
  SourceKind source = SourceKind::assumed;

  /// Time alone of a message.
  [[nodiscard]] Duration time(Bytes message) const;
  /// time(message) less message / rate_cap: the part that a gang waits before its bytes move.
  [[nodiscard]] Duration fixed(Bytes message) const;
};

/// Every way that the library of the profile has for this problem, by ascending floor; empty for
/// one rank.
[[nodiscard]] std::vector<CollectiveCost> library_collectives(const Profile& profile,
                                                              const Fabric& fabric,
                                                              const CollectiveProblem& problem);

/// The library's choice for a message (nccl_choice.hpp), first of equals. Throws MissingConstant
/// where the profile has no entry for the operation, std::domain_error for a problem that makes no
/// sense.
[[nodiscard]] CollectiveCost choose_collective(const Profile& profile, const Fabric& fabric,
                                               const CollectiveProblem& problem, Bytes message);

/// An all-reduce whose sums over the nodes the network's switches make (SHARP); none where they do not, or for another
/// operation.
[[nodiscard]] std::optional<CollectiveCost> network_reduction(const Profile& profile,
                                                              const Fabric& fabric,
                                                              const CollectiveProblem& problem,
                                                              Bytes message);

/// Our own collectives: peers written and read directly, by copy engines or by `ctas` CTAs of each
/// rank, or through a switch that reduces. None where the transport cannot do it: a copy engine
/// does not reduce.
[[nodiscard]] std::optional<CollectiveCost> direct_collective(const Profile& profile,
                                                              const Fabric& fabric,
                                                              const CollectiveProblem& problem,
                                                              Transport transport,
                                                              std::int64_t ctas);

/// The fabric that the constants of a profile were fitted on: its own link, no network.
[[nodiscard]] Fabric fabric_of(const Profile& profile);

}  // namespace weft::model
