// SPDX-License-Identifier: Apache-2.0
// NCCL's tuner: how long it thinks a collective takes by each algorithm and protocol, in its own numbers, and what it takes.
//
//   time = latency * calls + bytes / (1000 bandwidth)     us, GB/s of the message; `in` and `out` of a channel inside and
//   between nodes; bus = channels * (in, on more than two nodes out); hop and far are an inner and an outer step's latency
//
//   ring: base + (steps - outer) hop + outer far, bus * ranks / steps; LL halves it up to a ceiling, LL128 takes 92 % up
//         to a ceiling a channel
//   tree: all-reduce; base + 2 ((ranks/node - 1) hop + log2(nodes) far), half of 0.92 of the bus up to a ceiling a
//         channel, 0.85 of it where one GPU of a node has all its network, less a correction by size
//   nvls: 25 (+18 over the network, where CollNet is on); of a channel the least of in * efficiency * (channels - 1) /
//         channels * (2 where an all-reduce pipelines its halves, else (ranks/node - 1) / (ranks/node)) and out; an
//         all-reduce takes it times ranks / steps
//   nvls tree: all-reduce of nodes; 25 + 2 log2(nodes) 20.9; the same with out doubled on two nodes, up to a ceiling a
//         channel; on Blackwell with x86 hosts less a tree's correction
//   pat:  all-gather and reduce-scatter of one rank a node; 8 + log2(nodes) far / 3.5 + 2.8 ranks, 0.75 of the bus
//   collnet direct: 2 (3.7 + 0.4 (ranks/node - 1)) + 31; half of the channels' in over (1 + ranks/node/channels) / 2, 0.85
//         of it from Hopper on; a half moves ranks/node shares of in, or of 0.9 out
//   collnet chain: 2 (ranks/node - 1) 2.8 + 30, half of the channels' in; all-reduce only
//
// Over the network a ring's inner hop is no shorter than the proxy's overhead (1 us, 2 with AMD's hosts, three times
// that under Simple), LL's ceilings are the hosts', one rank a node sees a tree's hop, and a large ring all-reduce under
// Simple 1.4 of its latency. Calls of a group that share a channel repeat a ring's latency each, the others' every eight.
//
// Source: every term at NVIDIA/nccl 5067397 (2.30.7): src/graph/tuning.cc (ncclTopoTuneModel, ncclTopoGetAlgoTime);
// src/enqueue.cc (ncclPrepareTasks, updateCollCostTable), where sizes are summed and algorithms left out; src/include/
// device.h, 1024 bytes of a batch over 128 of a call: eight (96, so ten, until 2.28); src/graph/search.cc, the pattern of
// a tree of one GPU a node. PAT, CollNet and the proxy's terms are those of 2.27 and 2.28.3, unchanged.
// Later texts (1fc949c on, src/tuning/) are not followed: rings take `out` on two nodes too, trees and PAT the lesser of
// in and out, one rank a node no longer sees a tree's hop, CollNet all-reduces also need a NIC for each rank; then a
// pipeline of slices for rings and trees replaces both.
// Left out: FP8 reductions, whose rings of more than 8 ranks count as lossy; Volta's and Power's numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/profile/profile.hpp"
#include "sim/units/collective.hpp"

namespace weft::model {

enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};
inline constexpr NcclAlgorithm every_nccl_algorithm[] = {NcclAlgorithm::tree,
                                                         NcclAlgorithm::ring,
                                                         NcclAlgorithm::collnet_direct,
                                                         NcclAlgorithm::collnet_chain,
                                                         NcclAlgorithm::nvls,
                                                         NcclAlgorithm::nvls_tree,
                                                         NcclAlgorithm::pat};

/// Compute capabilities from which NCCL's figures are others.
inline constexpr int sm_ampere = 80, sm_hopper = 90, sm_blackwell = 100;

/// What a ring starts with and takes a hop inside a node, in microseconds.
struct NcclRingLatency {
  double base = 0, hop = 0;
};
[[nodiscard]] NcclRingLatency nccl_ring_latency(CollectiveProtocol protocol, bool nvlink);

enum class NcclHosts : std::uint8_t { intel, amd, other };

struct NcclTunerProblem {
  int architecture = 90;  ///< 80, 90, 100
  int ranks = 8;
  int nodes = 1;
  int channels = 16;
  double channel_gbps = 20;     ///< of one channel inside the node, as the topology search found it
  bool nvlink = true;           ///< else PCI Express
  double net_channel_gbps = 0;  ///< of one channel between nodes; 0: as inside
  NcclHosts hosts = NcclHosts::intel;
  std::optional<double> net_overhead_us;  ///< NCCL_NET_OVERHEAD; absent: of the hosts
  double net_latency_us = 0;              ///< that the topology adds to a hop between nodes
  int collnet_heads = 0;  ///< NICs of a node that sum in the network; 0: NCCL_COLLNET_ENABLE is off
};

/// The tuner's time for a message as nccl-tests counts it, with so many calls of its group on a channel; none for what
/// the algorithm or protocol does not do.
[[nodiscard]] std::optional<double> nccl_tuner_time_us(const NcclTunerProblem& problem,
                                                       CollectiveOp op, NcclAlgorithm algorithm,
                                                       CollectiveProtocol protocol,
                                                       std::int64_t bytes, int calls = 1);

/// What the tuner takes for calls of one group that it takes together.
struct NcclTunerPick {
  std::int64_t bytes = 0;  ///< of all of them
  int calls = 1;           ///< taken together
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  CollectiveProtocol protocol = CollectiveProtocol::simple;
  double time_us = 0;
};

/// Algorithm and protocol of the least time for a call on its own; none where no algorithm does it.
[[nodiscard]] std::optional<NcclTunerPick> nccl_tuner_pick(const NcclTunerProblem& problem,
                                                           CollectiveOp op, std::int64_t bytes,
                                                           int calls_on_a_channel = 1);

/// The picks of a group of calls of one kind and type: by ascending size, each with those less than four times as large
/// as the first of them.
[[nodiscard]] std::vector<NcclTunerPick> nccl_tuner_group(const NcclTunerProblem& problem,
                                                          CollectiveOp op,
                                                          std::vector<std::int64_t> messages);

}  // namespace weft::model
