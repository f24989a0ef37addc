// SPDX-License-Identifier: Apache-2.0
// NCCL's tuner: how long it thinks a collective takes by each algorithm and protocol, in its own numbers.
//
//   time = latency + bytes / (1000 bandwidth)       us, GB/s of the message
//   ring: base + (steps - far) intra + far inter, bandwidth of all channels * ranks / steps; LL halves it up to a
//         ceiling, LL128 takes 92 % up to a ceiling a channel
//   tree: all-reduce; base + 2 ((ranks/node - 1) intra + log2(nodes) inter), half of the bandwidth, less a
//         correction by size
//   nvls: 25 us (+18 over the network), bandwidth * efficiency * (channels - 1) / channels; an all-reduce pipelines its
//         halves: times 2 ranks / steps
//
// Source: NVIDIA/nccl at 5067397 (2.30.7), src/graph/tuning.cc. Network overheads of proxies are left out, as are
// CollNet and PAT.
#pragma once

#include <cstdint>
#include <optional>

#include "models/profile/profile.hpp"
#include "sim/units/collective.hpp"

namespace weft::model {

enum class NcclAlgorithm : std::uint8_t { ring, tree, nvls };

struct NcclTunerProblem {
  int architecture = 90;  ///< 80, 90, 100
  int ranks = 8;
  int nodes = 1;
  int channels = 16;
  double channel_gbps = 20;  ///< of one channel inside the node, as the topology search found it
  bool nvlink = true;        ///< else PCI Express
};

/// The tuner's time for a message as nccl-tests counts it; none for what the algorithm or protocol does not do.
[[nodiscard]] std::optional<double> nccl_tuner_time_us(const NcclTunerProblem& problem,
                                                       CollectiveOp op, NcclAlgorithm algorithm,
                                                       CollectiveProtocol protocol,
                                                       std::int64_t bytes);

}  // namespace weft::model
