// SPDX-License-Identifier: Apache-2.0
// Our own collectives: every rank addresses its peers' memory. One hop for an all-gather, reduce-scatter or
// all-to-all, two for an all-reduce (reduce-scatter, then all-gather).
//
//   copy engine: the p-1 copies of a rank go one after the other: (p-1) starts, the engine's rate
//   SMs:         min(link, ctas * rate of a CTA, cap) of wire, all peers at once
//   switch:      multicast and reduction in the network: a rank sends its shard once and reads sums
// Ignored: that copies to different peers could start while the last one ends.
#include <algorithm>

#include <fmt/core.h>

#include "models/cost/collective.hpp"

namespace weft::model {

namespace {

bool reduces(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter;
}

/// message bytes a second when `wire` / `ranks` of the message pass a port of this rate.
Bandwidth message_rate(Bandwidth port, std::int64_t ranks, std::int64_t wire) {
  return Bandwidth::from_bytes_per_second(narrow(Int128{port.bytes_per_second()} * ranks / wire));
}

/// Bytes a rank's port and memory see for each p-th of the message.
PerByte unicast_bytes(CollectiveOp op, std::int64_t p) {
  const std::int64_t wire = wire_numerator(op, static_cast<int>(p));
  PerByte bytes{.egress = wire, .ingress = wire};
  switch (op) {
    case CollectiveOp::all_gather:
      // The shard is read once a target, and each rank's copy is written where it ends.
      bytes.hbm_read = p - 1;
      bytes.hbm_write = p - 1;
      break;
    case CollectiveOp::all_to_all:
      bytes.hbm_read = p;
      bytes.hbm_write = p;
      break;
    case CollectiveOp::reduce_scatter:
      // Partials land in slots of their owner, which reads them and its own, and writes the sum.
      bytes.hbm_read = (p - 1) + p;
      bytes.hbm_write = (p - 1) + 1;
      break;
    case CollectiveOp::all_reduce:
      bytes.hbm_read = (p - 1) + p + (p - 1);
      bytes.hbm_write = (p - 1) + 1 + (p - 1);
      break;
  }
  return bytes;
}

/// What passes a port when the switch multicasts and reduces.
PerByte switch_bytes(CollectiveOp op, std::int64_t p) {
  switch (op) {
    case CollectiveOp::all_gather:
      return {.hbm_read = 1, .hbm_write = p, .egress = 1, .ingress = p};
    case CollectiveOp::reduce_scatter:
      return {.hbm_read = p, .hbm_write = 1, .egress = p, .ingress = 1};
    case CollectiveOp::all_reduce:
      return {.hbm_read = p, .hbm_write = p, .egress = p + 1, .ingress = p + 1};
    case CollectiveOp::all_to_all:
      break;
  }
  return {};
}

}  // namespace

std::optional<CollectiveCost> direct_collective(const Profile& profile, const Fabric& fabric,
                                                const CollectiveProblem& problem,
                                                Transport transport, std::int64_t ctas) {
  const std::int64_t p = problem.ranks;
  if (p < 2 || problem.nodes != 1) return std::nullopt;
  const bool two_phases = problem.op == CollectiveOp::all_reduce;

  CollectiveCost cost;
  cost.algorithm = CollectiveAlgorithm::direct;
  cost.transport = transport;
  cost.denominator = p;
  cost.base = profile.control.launch.value + profile.control.kernel_drain.value;
  cost.step_latency = profile.control.signal_peer.value + fabric.gpu_latency;
  cost.source = weaker(profile.control.launch.source.kind, profile.control.signal_peer.source.kind);
  if (transport == Transport::fabric_switch) cost.algorithm = CollectiveAlgorithm::nvls;
  Bandwidth port = fabric.port(cost.algorithm);

  switch (transport) {
    case Transport::nic:
      return std::nullopt;
    case Transport::copy_engine: {
      if (reduces(problem.op)) return std::nullopt;
      const CopyEngineCosts& engine = profile.copy_engine(CopyPath::to_peer);
      port =
          port == Bandwidth{} ? engine.duplex_rate.value : std::min(port, engine.duplex_rate.value);
      cost.base = engine.start.value * (p - 1);
      cost.steps = 1;
      cost.per_byte = unicast_bytes(problem.op, p);
      cost.source = weaker(cost.source, engine.duplex_rate.source.kind);
      break;
    }
    case Transport::sm:
    case Transport::fabric_switch: {
      if (ctas < 1) return std::nullopt;
      const SmCopyCosts& copies = profile.sm_copy(CopyPath::to_peer);
      const Bandwidth reach = std::min(copies.per_cta.value * ctas, copies.cap.value);
      port = port == Bandwidth{} ? reach : std::min(port, reach);
      cost.ctas = ctas;
      cost.threads_per_cta = copies.threads.value;
      cost.steps = two_phases ? 2 : 1;
      cost.source = weaker(cost.source, copies.per_cta.source.kind);
      if (transport == Transport::sm) {
        cost.per_byte = unicast_bytes(problem.op, p);
        break;
      }
      if (!fabric.switch_reduces || problem.op == CollectiveOp::all_to_all) return std::nullopt;
      cost.per_byte = switch_bytes(problem.op, p);
      break;
    }
  }
  cost.floor = cost.base + cost.step_latency * cost.steps;
  cost.rate_cap = message_rate(port, p, std::max(cost.per_byte.egress, cost.per_byte.ingress));
  return cost;
}

}  // namespace weft::model
