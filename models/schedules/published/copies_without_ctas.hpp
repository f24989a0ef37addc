// SPDX-License-Identifier: Apache-2.0
// A whole all-gather or all-to-all in which no CTA takes part: copies by copy engine inside a node, messages by NIC
// between nodes, two barriers of all ranks around them.
//
// All-gather: a rank copies its shard to its node's peers and puts it at its counterparts; what came by NIC goes on to
// the peers. All-to-all: each part goes straight to its rank.
#pragma once

#include <vector>

#include "models/schedules/layer_program.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// Writes it on one stream of each rank, with a second one for the NIC.
void copy_without_ctas(const BoundaryCollective& collective,
                       const std::vector<sim::StreamId>& streams, LayerProgram& program);

}  // namespace weft::model
