// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_tuner.hpp"

#include <algorithm>
#include <array>

namespace weft::model {
namespace {

using ByProtocol = std::array<double, 3>;  // LL, LL128, Simple
using ByNodes = std::array<double, 3>;     // one, two, four and more

struct Latencies {
  ByProtocol tree, ring;
};
constexpr Latencies base_latency = {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr Latencies nvlink_hop = {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr Latencies pci_hop = {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
constexpr Latencies network_hop = {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
constexpr double nvls_latency = 25, nvls_network = 18;
constexpr double direct_latency = 3.7, direct_network = 31, direct_serial = 0.4;
constexpr double chain_latency = 2.8, chain_network = 30;
constexpr double pat_base = 8, pat_share = 3.5, pat_rank = 2.8, pat_efficiency = 0.75;
constexpr double plateau = 1.4;  // of a ring's latency, from so many bytes a channel and rank on
constexpr std::int64_t plateau_bytes = 64;
constexpr double simple_overheads = 3;  // posts of the proxy for a chunk under Simple

struct Ceilings {
  ByNodes ll, ring_ll128, tree_ll128, tree;
  double nvls_efficiency;
};
constexpr Ceilings ampere = {
    {87.7, 22.5, 19.0}, {20, 20, 20}, {20, 20, 20}, {24.0, 23.6, 17.8}, 0.85};
constexpr Ceilings hopper = {
    {141.0, 45.0, 35.0}, {36.7, 36.7, 36.7}, {36.7, 36.7, 29.0}, {38.7, 41.4, 36.0}, 0.85};
constexpr Ceilings blackwell = {
    {282.0, 90.0, 70.0}, {40, 40, 40}, {40, 40, 40}, {70.0, 42.8, 24.0}, 0.74};

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
  return architecture >= 100 ? blackwell : architecture >= 90 ? hopper : ampere;
}

}  // namespace

std::optional<double> nccl_tuner_time_us(const NcclTunerProblem& p, CollectiveOp op,
                                         NcclAlgorithm algorithm, CollectiveProtocol protocol,
                                         std::int64_t bytes) {
  if (op == CollectiveOp::all_to_all || p.ranks < 2) return std::nullopt;
  const bool all_reduce = op == CollectiveOp::all_reduce;
  const std::size_t proto = protocol_index(protocol);
  const std::size_t scale = p.nodes >= 4 ? 2 : p.nodes >= 2 ? 1 : 0;
  const Ceilings& most = ceilings_of(p.architecture);
  const Latencies& near = p.nvlink ? nvlink_hop : pci_hop;
  const double bus = p.channels * p.channel_gbps;
  const double size = static_cast<double>(bytes);
  const int steps = all_reduce ? 2 * (p.ranks - 1) : p.ranks - 1;
  const int local = p.ranks / p.nodes;
  // The network's hop: a flush more under Simple; fully exposed, a tree's, where a node has one rank.
  const double flushes = proto == 2 ? 2 : 1;
  const auto far_hop = [&](double own) {
    return (local == 1 ? network_hop.tree[proto] : own) + flushes * p.net_latency_us;
  };
  const auto time = [&](double latency, double bandwidth) {
    return latency + size / (1000 * bandwidth);
  };
  switch (algorithm) {
    case NcclAlgorithm::ring: {
      double bandwidth = bus;
      if (proto == 0) bandwidth = std::min(most.ll[scale], bus * 0.5);
      if (proto == 1) bandwidth = std::min(bus * 0.92, p.channels * most.ring_ll128[scale]);
      const int far = p.nodes == 1 ? 0 : all_reduce ? 2 * (p.nodes - 1) : p.nodes - 1;
      double hop = near.ring[proto];
      if (p.nodes > 1) hop = std::max(hop, p.net_overhead_us * (proto == 2 ? simple_overheads : 1));
      double latency =
          base_latency.ring[proto] + (steps - far) * hop + far * far_hop(network_hop.ring[proto]);
      if (proto == 2 && p.nodes > 1 && all_reduce &&
          bytes / (std::int64_t{p.channels} * p.ranks) >= plateau_bytes) {
        latency *= plateau;
      }
      return time(latency, bandwidth * p.ranks / steps);
    }
    case NcclAlgorithm::tree: {
      if (!all_reduce) return std::nullopt;
      double bandwidth = std::min(bus * 0.92, p.channels * most.tree[scale]);
      if (proto == 0) bandwidth = std::min(bandwidth / 3.8, most.ll[scale]);
      if (proto == 1) {
        bandwidth = std::min(bandwidth * (p.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                             p.channels * most.tree_ll128[scale]);
      }
      bandwidth *= 0.5;
      const int power = log2_floor(bytes >> 6);
      if (bytes >= 64 && power < 24)
        bandwidth *= tree_correction[proto][static_cast<std::size_t>(power)];
      return time(
          base_latency.tree[proto] + 2 * ((local - 1) * near.tree[proto] +
                                          log2_floor(p.nodes) * far_hop(network_hop.tree[proto])),
          bandwidth);
    }
    case NcclAlgorithm::collnet_direct: {
      if (proto != 2 || p.collnet_heads == 0 || !p.nvlink) return std::nullopt;
      const double latency =
          2 * (std::min(1, local - 1) * direct_latency + (local - 1) * direct_serial) +
          far_hop(direct_network);
      if (!all_reduce) {
        if (p.nodes > 1 && local > p.collnet_heads) return std::nullopt;
        const double outside = p.net_channel_gbps > 0 ? p.net_channel_gbps : p.channel_gbps;
        return time(latency, local * std::min(p.channel_gbps, outside * 0.9));
      }
      double factor = static_cast<double>(local) / p.channels;  // ranks for each NIC
      factor -= (factor - 1) / 2;
      return time(latency, bus / factor * (p.architecture >= 90 ? 0.85 : 1) * 0.5);
    }
    case NcclAlgorithm::collnet_chain: {
      if (proto != 2 || p.collnet_heads == 0 || !all_reduce) return std::nullopt;
      return time(2 * (local - 1) * chain_latency + far_hop(chain_network), bus * 0.5);
    }
    case NcclAlgorithm::pat: {
      if (proto != 2 || all_reduce || local != 1) return std::nullopt;
      return time(pat_base + log2_floor(p.nodes) * (far_hop(network_hop.tree[2]) / pat_share) +
                      p.ranks * pat_rank,
                  bus * pat_efficiency);
    }
    case NcclAlgorithm::nvls: {
      if (proto != 2 || p.architecture < 90 || (p.nodes > 1 && p.collnet_heads == 0))
        return std::nullopt;
      if (p.nodes > 1 && !all_reduce && local > p.collnet_heads) return std::nullopt;
      double bandwidth = bus * most.nvls_efficiency * (p.channels - 1) / p.channels;
      if (all_reduce) {
        // Two operations in a pipeline; then from bus to algorithm bandwidth, as for a ring.
        bandwidth *= 2.0 * p.ranks / steps;
      } else {
        const double per_node = static_cast<double>(p.ranks) / p.nodes;
        bandwidth *= (per_node - 1) / per_node;
      }
      return time(nvls_latency + (p.nodes > 1 ? far_hop(nvls_network) : 0), bandwidth);
    }
  }
  return std::nullopt;
}

}  // namespace weft::model
