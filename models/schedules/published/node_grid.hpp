// SPDX-License-Identifier: Apache-2.0
// A group over several nodes as published schedules cut it: peers inside a rank's node, which its stores and copy
// engines reach, and its counterparts, the ranks of the same place in other nodes, which its NIC reaches.
#pragma once

#include <vector>

#include "models/schedules/fused.hpp"
#include "models/schedules/graph_writer.hpp"
#include "models/schedules/pair_schedule.hpp"

namespace weft::model {

class NodeGrid {
 public:
  /// Nodes in the order of their first ranks. Needs a group that `require_grid` passes.
  explicit NodeGrid(const Site& site);

  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int places() const { return static_cast<int>(ranks_.front().size()); }
  [[nodiscard]] int node(int rank) const { return node_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int place(int rank) const { return place_[static_cast<std::size_t>(rank)]; }
  /// The rank so many nodes and places on from another, both counted round.
  [[nodiscard]] int beside(int rank, int nodes_on, int places_on) const;
  /// All ranks of a rank's node, ascending.
  [[nodiscard]] std::vector<int> node_of(int rank) const;

 private:
  std::vector<std::vector<int>> ranks_;  // [node][place]
  std::vector<int> node_, place_;        // by rank
};

/// The rule that nodes hold the same number of ranks, and reach each other by NICs.
void require_grid(const Site& site, Rules& broken);

/// Sends bytes from a rank to a counterpart in another node by its NIC, which posts there once they have arrived; the
/// further the node, the next the queue pair. No bytes: the post alone.
void send_by_nic(GraphWriter& graph, const NodeGrid& grid, int rank, sim::StreamId stream, int to,
                 Bytes bytes, sim::SignalId arrived, int chunk);

/// Transfers of rows: to or from counterparts by NIC, and inside each node straight between its ranks.
[[nodiscard]] std::vector<Transfer> grid_transfers(const BoundaryCollective& collective,
                                                   const NodeGrid& grid);

}  // namespace weft::model
