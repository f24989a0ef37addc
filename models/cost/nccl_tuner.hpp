// SPDX-License-Identifier: Apache-2.0
// NCCL's tuner: how long it thinks a collective takes by each algorithm and protocol, in its own numbers.
//
//   time = latency + bytes / (1000 bandwidth)       us, GB/s of the message
//   ring: base + (steps - far) intra + far inter, bandwidth of all channels * ranks / steps; LL halves it up to a
//         ceiling, LL128 takes 92 % up to a ceiling a channel
//   tree: all-reduce; base + 2 ((ranks/node - 1) intra + log2(nodes) inter), half of the bandwidth, less a
//         correction by size
//   nvls: 25 us (+18 over the network, where CollNet is on), bandwidth * efficiency * (channels - 1) / channels; an
//         all-reduce pipelines its halves: times 2 ranks / steps
//   pat:  all-gather and reduce-scatter of one rank a node; 8 + log2(nodes) inter / 3.5 + 2.8 ranks, 0.75 of the bus
//   collnet direct: 2 (3.7 + 0.4 (ranks/node - 1)) + 31; half of the bus over (1 + ranks/node/channels) / 2, 0.85 of it
//         from Hopper on; a half moves ranks/node shares of a channel inside, or 0.9 of one outside
//   collnet chain: 2 (ranks/node - 1) 2.8 + 30, half of the bus; all-reduce only
//
// Over the network a ring's inner hop is no shorter than the proxy's overhead (1 us, 2 with AMD's hosts, three times
// that under Simple), one rank a node sees a tree's hop, and a large ring all-reduce under Simple 1.4 of its latency.
//
// Source: NVIDIA/nccl, src/graph/tuning.cc; constants, ring, tree and NVLS at 5067397 (2.30.7); the forms of PAT, of both
// CollNets, of the proxy's overhead and of the plateau between nodes in texts of about 2.27, not compared with 2.30.7's.
// Left out: NVLSTree, and aggregation.
#pragma once

#include <cstdint>
#include <optional>

#include "models/profile/profile.hpp"
#include "sim/units/collective.hpp"

namespace weft::model {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls, collnet_direct, collnet_chain, pat };

struct NcclTunerProblem {
  int architecture = 90;  ///< 80, 90, 100
  int ranks = 8;
  int nodes = 1;
  int channels = 16;
  double channel_gbps = 20;     ///< of one channel inside the node, as the topology search found it
  bool nvlink = true;           ///< else PCI Express
  double net_channel_gbps = 0;  ///< of one channel between nodes; 0: as inside
  double net_overhead_us =
      1;  ///< of the proxy: NCCL_NET_OVERHEAD, 1 with Intel's hosts, 2 with AMD's
  double net_latency_us = 0;  ///< that the topology adds to a hop between nodes
  int collnet_heads = 0;  ///< NICs of a node that sum in the network; 0: NCCL_COLLNET_ENABLE is off
};

/// The tuner's time for a message as nccl-tests counts it; none for what the algorithm or protocol does not do.
[[nodiscard]] std::optional<double> nccl_tuner_time_us(const NcclTunerProblem& problem,
                                                       CollectiveOp op, NcclAlgorithm algorithm,
                                                       CollectiveProtocol protocol,
                                                       std::int64_t bytes);

}  // namespace weft::model
