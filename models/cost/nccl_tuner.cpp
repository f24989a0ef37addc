// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_tuner.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace weft::model {
namespace {

using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;     // one, two, more

struct Latencies {
  ByProtocol tree, ring;
};
constexpr Latencies base_latency = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr Latencies nvlink_hop = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr Latencies pci_hop = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr Latencies network_hop = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
constexpr double nvls_latency = 25, nvls_network = 18, nvls_tree_network = 20.9;
constexpr double direct_latency = 3.7, direct_network = 31, direct_serial = 0.4;
constexpr double chain_latency = 2.8, chain_network = 30;
constexpr double pat_base = 8, pat_share = 3.5, pat_rank = 2.8, pat_efficiency = 0.75;
constexpr double plain_tree = 0.85;  // where one GPU has all of a node's network
constexpr double plateau = 1.4;  // of a ring's latency, from so many bytes a channel and rank on
constexpr std::int64_t plateau_bytes = 64;
constexpr double simple_overheads = 3;  // posts of the proxy for a chunk under Simple
constexpr int most_collnet_ranks = 8,
              most_nvls_ranks = 32;         // NCCL_MAX_DIRECT_ARITY + 1, _NVLS_ARITY
constexpr int calls_a_batch = 8;            // NCCL_MAX_DEV_WORK_BATCH_COLLS
constexpr std::int64_t together_below = 4;  // times the smallest
constexpr int corrected_tree = 23, corrected_nvls_tree = 24;  // powers of two

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Ceilings {
  ByNodes ring_ll128, tree_ll128, tree, nvls_tree;
  double nvls_efficiency;
};
constexpr Ceilings ampere = {{20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, {24.0, 23.6, 17.8}, 0};
constexpr Ceilings hopper = {
    {36.7, 36.7, 36.7}, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, {0, 57.7, 45.5}, 0.85};
constexpr Ceilings blackwell = {
    {40, 40, 40}, {55.6, 31.67, 20.0}, {70.0, 42.8, 24.0}, {0, 96.0, 80.0}, 0.74};

// LL of all channels: the GPU's inside a node, the hosts' between nodes.
constexpr double ampere_ll = 87.7, hopper_ll = 141.0, blackwell_ll = 282.0;
constexpr ByNodes intel_ll = {39.0, 39.0, 20.4}, amd_ll = {87.7, 22.5, 19.0};

// Powers of two from 64 B on: trees fall behind the model at medium sizes.
constexpr std::array<std::array<double, 24>, 3> tree_correction = {{
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6,  .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6,  .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

int log2_floor(std::int64_t n) {
  int bits = 0;
  while (n > 1) {
    n >>= 1;
    ++bits;
  }
  return bits;
}

std::size_t protocol_index(CollectiveProtocol protocol) {
  return protocol == CollectiveProtocol::ll ? 0 : protocol == CollectiveProtocol::ll128 ? 1 : 2;
}

const Ceilings& ceilings_of(int architecture) {
  return architecture >= sm_blackwell ? blackwell : architecture >= sm_hopper ? hopper : ampere;
}

// One collective of one problem, by each algorithm.
class Tuner {
 public:
  Tuner(const NcclTunerProblem& problem, CollectiveOp op, CollectiveProtocol protocol,
        std::int64_t bytes, int calls)
      : p_(problem),
        all_reduce_(op == CollectiveOp::all_reduce),
        proto_(protocol_index(protocol)),
        bytes_(bytes),
        calls_(calls),
        scale_(p_.nodes <= 2 ? static_cast<std::size_t>(p_.nodes - 1) : 2),
        most_(ceilings_of(p_.architecture)),
        near_(p_.nvlink ? nvlink_hop : pci_hop),
        steps_(all_reduce_ ? 2 * (p_.ranks - 1) : p_.ranks - 1),
        local_(p_.ranks / p_.nodes),
        outside_(p_.net_channel_gbps > 0 ? p_.net_channel_gbps : p_.channel_gbps),
        bus_(p_.channels * (p_.nodes <= 2 ? p_.channel_gbps : outside_)) {}

  std::optional<double> ring() const {
    double bandwidth = bus_;
    if (proto_ == 0) bandwidth = std::min(low_latency_ceiling(), bus_ * 0.5);
    if (proto_ == 1) bandwidth = std::min(bus_ * 0.92, p_.channels * most_.ring_ll128[scale_]);
    const int outer = p_.nodes == 1 ? 0 : all_reduce_ ? 2 * (p_.nodes - 1) : p_.nodes - 1;
    double hop = near_.ring[proto_];
    if (p_.nodes > 1) hop = std::max(hop, overhead() * (simple() ? simple_overheads : 1));
    double latency =
        base_latency.ring[proto_] + (steps_ - outer) * hop + outer * far(network_hop.ring[proto_]);
    if (simple() && p_.nodes > 1 && all_reduce_ &&
        bytes_ / (std::int64_t{p_.channels} * p_.ranks) >= plateau_bytes) {
      latency *= plateau;
    }
    return latency * calls_ + moved(bandwidth * p_.ranks / steps_);
  }

  std::optional<double> tree() const {
    if (!all_reduce_) return std::nullopt;
    double bandwidth = std::min(bus_ * 0.92, p_.channels * most_.tree[scale_]);
    if (proto_ == 0) bandwidth = std::min(bandwidth / 3.8, low_latency_ceiling());
    if (proto_ == 1) {
      bandwidth = std::min(bandwidth * (p_.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                           p_.channels * most_.tree_ll128[scale_]);
    }
    if (local_ == 1) bandwidth *= plain_tree;
    return time(
        base_latency.tree[proto_] + 2 * ((local_ - 1) * near_.tree[proto_] +
                                         log2_floor(p_.nodes) * far(network_hop.tree[proto_])),
        bandwidth * 0.5 * correction(corrected_tree));
  }

  std::optional<double> collnet_direct() const {
    if (!simple() || !collnet() || !p_.nvlink) return std::nullopt;
    const double latency =
        2 * (std::min(1, local_ - 1) * direct_latency + (local_ - 1) * direct_serial) +
        far(direct_network);
    if (!all_reduce_) {
      if (p_.nodes > 1 && local_ > p_.collnet_heads) return std::nullopt;
      return time(latency, local_ * std::min(p_.channel_gbps, outside_ * 0.9));
    }
    double factor = static_cast<double>(local_) / p_.channels;  // ranks for each NIC
    factor -= (factor - 1) / 2;
    return time(latency,
                p_.channels * p_.channel_gbps / factor * (p_.architecture >= 90 ? 0.85 : 1) * 0.5);
  }

  std::optional<double> collnet_chain() const {
    if (!simple() || !collnet() || !all_reduce_) return std::nullopt;
    return time(2 * (local_ - 1) * chain_latency + far(chain_network),
                p_.channels * p_.channel_gbps * 0.5);
  }

  std::optional<double> pat() const {
    if (!simple() || all_reduce_ || local_ != 1) return std::nullopt;
    return time(pat_base + log2_floor(p_.nodes) * (far(network_hop.tree[2]) / pat_share) +
                    p_.ranks * pat_rank,
                bus_ * pat_efficiency);
  }

  std::optional<double> nvls() const {
    if (!switches() || (p_.nodes > 1 && p_.collnet_heads == 0)) return std::nullopt;
    if (!all_reduce_ && local_ > most_nvls_ranks) return std::nullopt;
    if (p_.nodes > 1 && !all_reduce_ && local_ > p_.collnet_heads) return std::nullopt;
    // The search raises what a channel takes out of a node until it binds no more inside one.
    const double channel = std::min(inside_switch(), p_.nodes == 1 ? unbounded : outside_);
    return time(nvls_latency + (p_.nodes > 1 ? far(nvls_network) : 0),
                p_.channels * channel * (all_reduce_ ? 1.0 * p_.ranks / steps_ : 1));
  }

  std::optional<double> nvls_tree() const {
    if (!switches() || p_.nodes == 1 || !all_reduce_) return std::nullopt;
    const double channel =
        std::min({inside_switch(), outside_ * (p_.nodes == 2 ? 2 : 1), most_.nvls_tree[scale_]});
    const bool corrected = p_.architecture >= 100 && p_.hosts != NcclHosts::other;
    return time(nvls_latency + 2 * log2_floor(p_.nodes) * far(nvls_tree_network),
                p_.channels * channel * p_.ranks / steps_ *
                    (corrected ? correction(corrected_nvls_tree) : 1));
  }

 private:
  bool simple() const { return proto_ == 2; }
  bool collnet() const { return p_.collnet_heads > 0 && local_ <= most_collnet_ranks; }
  bool switches() const { return simple() && p_.architecture >= 90 && p_.channels >= 2; }

  double overhead() const {
    return p_.net_overhead_us.value_or(p_.hosts == NcclHosts::amd ? 2 : 1);
  }

  double low_latency_ceiling() const {
    if (p_.nodes > 1) return (p_.hosts == NcclHosts::amd ? amd_ll : intel_ll)[scale_];
    return p_.architecture >= sm_blackwell ? blackwell_ll
           : p_.architecture >= sm_hopper  ? hopper_ll
                                           : ampere_ll;
  }

  // A hop between nodes: a flush more under Simple; fully exposed, a tree's, where a node has one rank.
  double far(double own) const {
    return (local_ == 1 ? network_hop.tree[proto_] : own) + (simple() ? 2 : 1) * p_.net_latency_us;
  }

  // Of a channel through the switch; an all-reduce runs its two halves at once.
  double inside_switch() const {
    return p_.channel_gbps * most_.nvls_efficiency * (p_.channels - 1) / p_.channels *
           (all_reduce_ ? 2 : (local_ - 1.0) / local_);
  }

  double correction(int powers) const {
    const int power = bytes_ >= 64 ? log2_floor(bytes_ >> 6) : powers;
    return power < powers ? tree_correction[proto_][static_cast<std::size_t>(power)] : 1;
  }

  double moved(double bandwidth) const { return static_cast<double>(bytes_) / (1000 * bandwidth); }

  // What is no ring pipelines the calls of a batch.
  std::optional<double> time(double latency, double bandwidth) const {
    return latency * ((calls_ + calls_a_batch - 1) / calls_a_batch) + moved(bandwidth);
  }

  const NcclTunerProblem& p_;
  bool all_reduce_;
  std::size_t proto_;
  std::int64_t bytes_;
  int calls_;
  std::size_t scale_;
  const Ceilings& most_;
  const Latencies& near_;
  int steps_, local_;
  double outside_, bus_;
};

}  // namespace

NcclRingLatency nccl_ring_latency(CollectiveProtocol protocol, bool nvlink) {
  const std::size_t index = protocol_index(protocol);
  return {base_latency.ring[index], (nvlink ? nvlink_hop : pci_hop).ring[index]};
}

std::optional<double> nccl_tuner_time_us(const NcclTunerProblem& problem, CollectiveOp op,
                                         NcclAlgorithm algorithm, CollectiveProtocol protocol,
                                         std::int64_t bytes, int calls) {
  if (op == CollectiveOp::all_to_all || problem.ranks < 2) return std::nullopt;
  const Tuner tuner(problem, op, protocol, bytes, calls);
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return tuner.tree();
    case NcclAlgorithm::ring:
      return tuner.ring();
    case NcclAlgorithm::collnet_direct:
      return tuner.collnet_direct();
    case NcclAlgorithm::collnet_chain:
      return tuner.collnet_chain();
    case NcclAlgorithm::nvls:
      return tuner.nvls();
    case NcclAlgorithm::nvls_tree:
      return tuner.nvls_tree();
    case NcclAlgorithm::pat:
      return tuner.pat();
  }
  return std::nullopt;
}

std::optional<NcclTunerPick> nccl_tuner_pick(const NcclTunerProblem& problem, CollectiveOp op,
                                             std::int64_t bytes, int calls_on_a_channel) {
  std::optional<NcclTunerPick> best;
  for (const NcclAlgorithm algorithm : every_nccl_algorithm) {
    for (const CollectiveProtocol protocol :
         {CollectiveProtocol::ll, CollectiveProtocol::ll128, CollectiveProtocol::simple}) {
      const auto time =
          nccl_tuner_time_us(problem, op, algorithm, protocol, bytes, calls_on_a_channel);
      if (time && (!best || *time < best->time_us)) best = {bytes, 1, algorithm, protocol, *time};
    }
  }
  return best;
}

std::vector<NcclTunerPick> nccl_tuner_group(const NcclTunerProblem& problem, CollectiveOp op,
                                            std::vector<std::int64_t> messages) {
  std::sort(messages.begin(), messages.end());
  const int on_a_channel =
      (static_cast<int>(messages.size()) + problem.channels - 1) / problem.channels;
  std::vector<NcclTunerPick> picks;
  for (std::size_t first = 0; first < messages.size();) {
    std::int64_t bytes = messages[first];
    std::size_t end = first + 1;
    while (end < messages.size() && messages[end] < together_below * messages[first])
      bytes += messages[end++];
    const auto pick = nccl_tuner_pick(problem, op, bytes, on_a_channel);
    if (!pick) return {};
    picks.push_back(*pick);
    picks.back().calls = static_cast<int>(end - first);
    first = end;
  }
  return picks;
}

}  // namespace weft::model
