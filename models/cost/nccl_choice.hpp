// SPDX-License-Identifier: Apache-2.0
// Which of its ways NCCL takes for a collective. It measures none of them: it estimates (nccl_tuner.hpp), and what it
// takes is not always what is quickest.
//
// Inside a node over NVLink a ring hands bytes over by the protocol of the least estimate: flags in the data up to some
// megabytes, 128-byte lines after that where ranks are many, then chunks. What the way taken costs is the profile's.
// Between the ring and what is none (the switch, trees, peers at once) the least time decides: what the tuner thinks of
// the switch goes with what its search of the machine found. So it does over PCI Express and between nodes.
#pragma once

#include <vector>

#include "models/cost/collective.hpp"
#include "models/cost/nccl_tuner.hpp"

namespace weft::model {

/// The problem as NCCL's tuner sees it, with so many channels of an algorithm.
[[nodiscard]] NcclTunerProblem nccl_tuner_problem(const Profile& profile, const Fabric& fabric,
                                                  const CollectiveProblem& problem,
                                                  CollectiveAlgorithm algorithm,
                                                  std::int64_t channels);

/// What the library takes of a profile's ways for a message; `ways` is not empty.
[[nodiscard]] const CollectiveCost& taken_by_library(const Profile& profile, const Fabric& fabric,
                                                     const CollectiveProblem& problem,
                                                     const std::vector<CollectiveCost>& ways,
                                                     Bytes message);

}  // namespace weft::model
