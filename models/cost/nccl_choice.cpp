// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_choice.hpp"

#include <algorithm>
#include <optional>

#include "models/cost/cost_model.hpp"

namespace weft::model {
namespace {

// What NCCL counts of a link's raw rate: 20.0 and 20.6 of 25 GB/s, 40.1 of 50, 12 of 16 on PCI Express.
double counted_share(int architecture, bool nvlink) {
  if (!nvlink) return 12. / 16;
  return architecture >= sm_blackwell ? 40.1 / 50
         : architecture >= sm_hopper  ? 20.6 / 25
                                      : 20. / 25;
}

double gbps(Bandwidth rate) {
  return static_cast<double>(rate.bytes_per_second()) / 1e9;
}

// Chunks of full size are no protocol of their own to the tuner.
CollectiveProtocol as_tuned(CollectiveProtocol protocol) {
  return protocol == CollectiveProtocol::simple_full ? CollectiveProtocol::simple : protocol;
}

// The ring's protocol of the least estimate; none where the tuner does not say.
std::optional<CollectiveProtocol> tuned_protocol(const Profile& profile, const Fabric& fabric,
                                                 const CollectiveProblem& problem,
                                                 const std::vector<CollectiveCost>& ways,
                                                 Bytes message) {
  if (problem.nodes > 1 || problem.op == CollectiveOp::all_to_all || !joined_by_nvlink(fabric) ||
      nvidia_architecture(profile) < sm_ampere) {
    return std::nullopt;
  }
  std::optional<CollectiveProtocol> taken;
  double least = 0;
  for (const CollectiveCost& way : ways) {
    if (way.algorithm != CollectiveAlgorithm::ring) continue;
    const CollectiveProtocol protocol = as_tuned(way.protocol);
    const auto time =
        nccl_tuner_time_us(nccl_tuner_problem(profile, fabric, problem, way.algorithm, way.ctas),
                           problem.op, NcclAlgorithm::ring, protocol, message.count());
    if (!time || (taken && *time >= least)) continue;
    taken = protocol;
    least = *time;
  }
  return taken;
}

}  // namespace

NcclTunerProblem nccl_tuner_problem(const Profile& profile, const Fabric& fabric,
                                    const CollectiveProblem& problem, CollectiveAlgorithm algorithm,
                                    std::int64_t channels) {
  NcclTunerProblem result;
  result.architecture = nvidia_architecture(profile);
  result.ranks = static_cast<int>(problem.ranks);
  result.nodes = static_cast<int>(problem.nodes);
  result.nvlink = joined_by_nvlink(fabric);
  // A loop that is copied by one CTA still is one channel.
  result.channels = static_cast<int>(std::max<std::int64_t>(1, channels));
  double bus = gbps(fabric.port(algorithm)) * counted_share(result.architecture, result.nvlink);
  if (problem.nodes > 1) {
    const double nics = gbps(fabric.nic_per_direction * fabric.nics_per_node);
    bus = problem.ranks_per_node() == 1 ? nics : std::min(bus, nics);
  }
  result.channel_gbps = bus / result.channels;
  if (fabric.network_reduces) result.collnet_heads = static_cast<int>(fabric.nics_per_node);
  return result;
}

const CollectiveCost& taken_by_library(const Profile& profile, const Fabric& fabric,
                                       const CollectiveProblem& problem,
                                       const std::vector<CollectiveCost>& ways, Bytes message) {
  const auto protocol = tuned_protocol(profile, fabric, problem, ways, message);
  const CollectiveCost* taken = nullptr;
  for (const CollectiveCost& way : ways) {
    const bool refused = protocol && way.algorithm == CollectiveAlgorithm::ring &&
                         as_tuned(way.protocol) != *protocol;
    if (!refused && (taken == nullptr || way.time(message) < taken->time(message))) taken = &way;
  }
  return *taken;
}

}  // namespace weft::model
