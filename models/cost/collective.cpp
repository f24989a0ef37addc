// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include <fmt/core.h>

#include "models/cost/nccl_choice.hpp"

namespace weft::model {

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::copy_engine:
      return "copy_engine";
    case Transport::sm:
      return "sm";
    case Transport::fabric_switch:
      return "switch";
    case Transport::nic:
      return "nic";
  }
  return "unknown";
}

Duration CollectiveCost::time(Bytes message) const {
  if (message <= slack) return floor;
  return floor + (message - slack) / rate_cap;
}

Duration CollectiveCost::fixed(Bytes message) const {
  return std::max(Duration{}, time(message) - message / rate_cap);
}

namespace {

/// Steps are counted in millionths where local copies make them fractional.
constexpr std::int64_t kMicro = 1'000'000;

std::int64_t micro(double value) {
  return std::llround(value * static_cast<double>(kMicro));
}

/// rate * numerator / denominator, rounded down, at least a byte a second.
Bandwidth scaled(Bandwidth rate, std::int64_t numerator, std::int64_t denominator) {
  const Int128 product = Int128{rate.bytes_per_second()} * numerator / denominator;
  return Bandwidth::from_bytes_per_second(std::max<std::int64_t>(1, narrow(product)));
}

int ceil_log2(std::int64_t n) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < n) ++bits;
  return bits;
}

void check(const CollectiveProblem& problem, const Fabric& fabric) {
  if (problem.nodes > 1 &&
      fabric.nics_per_node * fabric.nic_per_direction.bytes_per_second() == 0) {
    throw std::domain_error("a collective over several nodes needs a fabric with NICs");
  }
  const bool fits = problem.ranks >= 1 && problem.nodes >= 1 &&
                    problem.ranks % problem.nodes == 0 && problem.crossings >= 0 &&
                    problem.crossings <= problem.ranks;
  if (fits) return;
  throw std::domain_error(fmt::format(
      "a collective over {} ranks on {} nodes with {} ring edges between nodes cannot be "
      "(ranks must divide evenly, and a ring has as many edges as ranks)",
      problem.ranks, problem.nodes, problem.crossings));
}

/// Where the constants' link is not the one used here, rates of the wire go with the link.
Bandwidth on_link(const Profile& profile, Bandwidth link, Bandwidth rate) {
  const std::int64_t fitted = profile.gpu.link_per_direction.value.bytes_per_second();
  const std::int64_t here = link.bytes_per_second();
  if (fitted == 0 || here == 0 || fitted == here) return rate;
  return scaled(rate, here, fitted);
}

SourceKind weakest(std::initializer_list<SourceKind> kinds) {
  SourceKind worst = SourceKind::measured;
  for (const SourceKind kind : kinds) worst = weaker(worst, kind);
  return worst;
}

struct Builder {
  const Profile& profile;
  const Fabric& fabric;
  const CollectiveProblem& problem;

  /// The share of NICs that all ranks of a node have together, at large messages.
  Bandwidth node_nics() const {
    const double efficiency = profile.network ? profile.network->efficiency.value : 1.0;
    return scaled(fabric.nic_per_direction * fabric.nics_per_node, micro(efficiency), kMicro);
  }

  Duration network_hop() const {
    return profile.network ? profile.network->hop.value + fabric.nic_latency : fabric.nic_latency;
  }

  std::int64_t crossings() const {
    return problem.crossings == 0 ? problem.nodes : problem.crossings;
  }

  CollectiveCost start_from(const ProtocolCosts& costs) const {
    CollectiveCost cost;
    cost.algorithm = costs.algorithm;
    cost.protocol = costs.protocol;
    cost.transport =
        costs.algorithm == CollectiveAlgorithm::nvls ? Transport::fabric_switch : Transport::sm;
    cost.ctas = costs.ctas.value;
    cost.threads_per_cta = kLibraryThreads;
    cost.base = costs.base.value;
    cost.step_latency = costs.hop.value;
    cost.slack = costs.slack.value * problem.ranks;
    cost.denominator = problem.ranks;
    cost.source = weakest({costs.base.source.kind, costs.hop.source.kind, costs.rate.source.kind});
    // Fitted to 2-byte floats; the library takes other algorithms for other sizes of element.
    if (bits_of(problem.dtype) != 16) cost.source = SourceKind::assumed;
    return cost;
  }

  /// The wire rate of one rank under these constants, with what all ranks share.
  Bandwidth wire_rate(const ProtocolCosts& costs) const {
    Bandwidth rate = on_link(profile, fabric.port(costs.algorithm), costs.rate.value);
    if (costs.shared) rate = std::min(rate, scaled(costs.shared->value, 1, problem.ranks));
    return rate;
  }

  /// Floor, and the NICs' limit, of `steps` steps in `laps` of a ring of all ranks.
  void along_ring(CollectiveCost& cost) const {
    const std::int64_t p = problem.ranks;
    const std::int64_t far =
        problem.nodes == 1 ? 0
                           : std::min(cost.steps, divide_up(Int128{cost.steps} * crossings(), p));
    cost.floor = cost.base + cost.step_latency * (cost.steps - far) + network_hop() * far;
    if (problem.nodes == 1) return;
    // Each crossing edge carries steps/p of the message; a node has crossings/nodes of them.
    cost.rate_cap =
        std::min(cost.rate_cap, scaled(node_nics(), p * problem.nodes, crossings() * cost.steps));
    cost.source = weaker(cost.source,
                         profile.network ? profile.network->hop.source.kind : SourceKind::assumed);
    cost.denominator = p * p;
    const std::int64_t near_edges = p - crossings();
    cost.per_byte = {.hbm_read = cost.per_byte.hbm_read * p,
                     .hbm_write = cost.per_byte.hbm_write * p,
                     .egress = cost.steps * near_edges,
                     .ingress = cost.steps * near_edges,
                     .nic_egress = cost.steps * crossings(),
                     .nic_ingress = cost.steps * crossings()};
  }

  CollectiveCost ring(const ProtocolCosts& costs) const {
    const std::int64_t p = problem.ranks;
    CollectiveCost cost = start_from(costs);
    cost.steps = wire_numerator(problem.op, static_cast<int>(p));
    cost.rate_cap =
        scaled(wire_rate(costs), p * kMicro, cost.steps * kMicro + micro(costs.local_steps.value));
    // A step writes the receiver's buffer and reads it again there; all-gather starts from one shard and
    // writes the whole, reduce-scatter the other way round.
    const std::int64_t input = problem.op == CollectiveOp::all_gather ? 1 : p;
    const std::int64_t result = problem.op == CollectiveOp::reduce_scatter ? 1 : p;
    cost.per_byte = {.hbm_read = cost.steps + input,
                     .hbm_write = cost.steps + result,
                     .egress = cost.steps,
                     .ingress = cost.steps};
    along_ring(cost);
    return cost;
  }

  CollectiveCost tree(const ProtocolCosts& costs) const {
    const std::int64_t l = problem.ranks_per_node();
    CollectiveCost cost = start_from(costs);
    cost.algorithm = CollectiveAlgorithm::tree;
    // A chain inside the node, a double binary tree between nodes; up, then down.
    const std::int64_t near = 2 * (l - 1), far = 2 * ceil_log2(problem.nodes);
    cost.steps = near + far;
    cost.floor = cost.base + cost.step_latency * near + network_hop() * far;
    cost.rate_cap = std::min(scaled(wire_rate(costs), 1, 2), scaled(node_nics(), 1, 2));
    cost.denominator = l;
    cost.per_byte = {.hbm_read = 2 * l,
                     .hbm_write = 2 * l,
                     .egress = 2 * (l - 1),
                     .ingress = 2 * (l - 1),
                     .nic_egress = 2,
                     .nic_ingress = 2};
    cost.source = weaker(cost.source, SourceKind::assumed);
    return cost;
  }

  CollectiveCost nvls(const ProtocolCosts& costs) const {
    const std::int64_t p = problem.ranks;
    CollectiveCost cost = start_from(costs);
    cost.steps = 2;
    cost.floor = cost.base + cost.step_latency * cost.steps;
    // A port serves the reads of every owner and sends its own slice once: (p+1)/p of the message. Every rank copies
    // the whole of it into the switch's buffers and out of them.
    cost.rate_cap =
        scaled(wire_rate(costs), p * kMicro, (p + 1) * kMicro + p * micro(costs.local_steps.value));
    cost.per_byte = {.hbm_read = p, .hbm_write = p, .egress = p + 1, .ingress = p + 1};
    return cost;
  }

  CollectiveCost direct(const ProtocolCosts& costs) const {
    const std::int64_t p = problem.ranks, l = problem.ranks_per_node();
    CollectiveCost cost = start_from(costs);
    cost.steps = p - 1;
    // The pairs share the channels of their devices.
    cost.slack = costs.slack.value;
    const std::int64_t near = l - 1, far = p - l;
    cost.floor = cost.base + cost.step_latency * near + network_hop() * (far > 0 ? 1 : 0);
    cost.rate_cap =
        scaled(wire_rate(costs), p * kMicro,
               std::max<std::int64_t>(near, 1) * kMicro + micro(costs.local_steps.value));
    if (costs.per_peer) {
      cost.rate_cap = std::min(
          cost.rate_cap, on_link(profile, fabric.gpu_per_direction, costs.per_peer->value) * p);
    }
    if (far > 0) cost.rate_cap = std::min(cost.rate_cap, scaled(node_nics(), p, l * far));
    cost.per_byte = {.hbm_read = p,
                     .hbm_write = p,
                     .egress = near,
                     .ingress = near,
                     .nic_egress = far,
                     .nic_ingress = far};
    return cost;
  }

  /// Inside the node, over the rails, inside the node again, in chunks that follow each other through the
  /// three: the slowest sets the rate, and the hops add up.
  CollectiveCost hierarchical(const ProtocolCosts& costs) const {
    const std::int64_t p = problem.ranks, l = problem.ranks_per_node(), nodes = problem.nodes;
    const bool both_ways = problem.op == CollectiveOp::all_reduce;
    CollectiveCost cost = start_from(costs);
    cost.algorithm = CollectiveAlgorithm::hierarchical;
    const std::int64_t phases = both_ways ? 2 : 1;
    const std::int64_t near = phases * (l - 1), far = phases * (nodes - 1);
    cost.steps = near + far;
    cost.floor = cost.base + cost.step_latency * near + network_hop() * far;
    // near/l of the message over each rank's port, far/(nodes l) over its share of the NICs.
    if (near > 0) {
      cost.rate_cap =
          scaled(wire_rate(costs), l * kMicro, near * kMicro + micro(costs.local_steps.value));
    } else {
      cost.rate_cap = wire_rate(costs);
    }
    cost.rate_cap = std::min(cost.rate_cap, scaled(node_nics(), nodes, far));
    cost.denominator = p;
    cost.per_byte = {.hbm_read = near * nodes + far + 1,
                     .hbm_write = near * nodes + far + p,
                     .egress = near * nodes,
                     .ingress = near * nodes,
                     .nic_egress = far,
                     .nic_ingress = far};
    cost.source = weaker(cost.source, SourceKind::assumed);
    return cost;
  }

  /// Inside the node to the rank of a place, by its NIC to a switch that adds and sends the sum to every node, and
  /// inside the node again.
  CollectiveCost collnet(const ProtocolCosts& costs) const {
    const std::int64_t p = problem.ranks, l = problem.ranks_per_node(), nodes = problem.nodes;
    CollectiveCost cost = start_from(costs);
    cost.algorithm = CollectiveAlgorithm::collnet;
    const std::int64_t near = 2 * (l - 1), far = 2;  // up and down
    cost.steps = near + far;
    cost.floor = cost.base + cost.step_latency * near + network_hop() * far;
    cost.rate_cap = wire_rate(costs);
    if (near > 0) {
      cost.rate_cap =
          scaled(wire_rate(costs), l * kMicro, near * kMicro + micro(costs.local_steps.value));
    }
    cost.rate_cap = std::min(cost.rate_cap, node_nics());
    cost.denominator = p;
    cost.per_byte = {.hbm_read = near * nodes + nodes,
                     .hbm_write = near * nodes + nodes + p,
                     .egress = near * nodes,
                     .ingress = near * nodes,
                     .nic_egress = nodes,
                     .nic_ingress = nodes};
    cost.source = weaker(cost.source, SourceKind::assumed);
    return cost;
  }

  static constexpr std::int64_t kLibraryThreads =
      640;  ///< of an NCCL CTA: src/device/common.h, 2.30
};

}  // namespace

std::vector<CollectiveCost> library_collectives(const Profile& profile, const Fabric& fabric,
                                                const CollectiveProblem& problem) {
  check(problem, fabric);
  std::vector<CollectiveCost> costs;
  if (problem.ranks == 1) return costs;
  const Builder build{profile, fabric, problem};
  const std::int64_t group = problem.ranks_per_node();
  for (const ProtocolCosts& entry : profile.collectives) {
    if (entry.op != problem.op) continue;
    const std::int64_t ranks =
        problem.nodes == 1 ? problem.ranks : std::max<std::int64_t>(group, 2);
    if (ranks < entry.min_ranks || (entry.max_ranks != 0 && ranks > entry.max_ranks)) continue;
    switch (entry.algorithm) {
      case CollectiveAlgorithm::ring:
        costs.push_back(build.ring(entry));
        if (problem.nodes > 1) {
          costs.push_back(build.hierarchical(entry));
          if (problem.op == CollectiveOp::all_reduce) costs.push_back(build.tree(entry));
        }
        break;
      case CollectiveAlgorithm::nvls:
        if (problem.nodes == 1 && fabric.switch_reduces) costs.push_back(build.nvls(entry));
        break;
      case CollectiveAlgorithm::direct:
        costs.push_back(build.direct(entry));
        break;
      case CollectiveAlgorithm::tree:
      case CollectiveAlgorithm::hierarchical:
      case CollectiveAlgorithm::collnet:
        break;  // priced from the ring's constants
    }
  }
  std::stable_sort(costs.begin(), costs.end(),
                   [](const auto& a, const auto& b) { return a.floor < b.floor; });
  return costs;
}

std::optional<CollectiveCost> network_reduction(const Profile& profile, const Fabric& fabric,
                                                const CollectiveProblem& problem, Bytes message) {
  check(problem, fabric);
  if (problem.nodes < 2 || !fabric.network_reduces || problem.op != CollectiveOp::all_reduce)
    return std::nullopt;
  const Builder build{profile, fabric, problem};
  const std::int64_t group = std::max<std::int64_t>(problem.ranks_per_node(), 2);
  std::optional<CollectiveCost> best;
  for (const ProtocolCosts& entry : profile.collectives) {
    if (entry.op != problem.op || entry.algorithm != CollectiveAlgorithm::ring) continue;
    if (group < entry.min_ranks || (entry.max_ranks != 0 && group > entry.max_ranks)) continue;
    const CollectiveCost cost = build.collnet(entry);
    if (!best || cost.time(message) < best->time(message)) best = cost;
  }
  return best;
}

CollectiveCost choose_collective(const Profile& profile, const Fabric& fabric,
                                 const CollectiveProblem& problem, Bytes message) {
  const std::vector<CollectiveCost> costs = library_collectives(profile, fabric, problem);
  if (costs.empty() && problem.ranks > 1) {
    throw MissingConstant(fmt::format("profile \"{}\" has no constants for {} over {} ranks",
                                      profile.name, name_of(problem.op), problem.ranks));
  }
  if (costs.empty()) {
    CollectiveCost nothing;
    nothing.rate_cap = Bandwidth::max();
    nothing.source = SourceKind::measured;
    return nothing;
  }
  return taken_by_library(profile, fabric, problem, costs, message);
}

Fabric fabric_of(const Profile& profile) {
  Fabric fabric;
  fabric.gpu_per_direction = profile.gpu.link_per_direction.value;
  fabric.switch_reduces =
      std::any_of(profile.collectives.begin(), profile.collectives.end(),
                  [](const auto& entry) { return entry.algorithm == CollectiveAlgorithm::nvls; });
  return fabric;
}

}  // namespace weft::model
