// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/copies_without_ctas.hpp"

#include "models/schedules/fused.hpp"
#include "models/schedules/published/node_grid.hpp"

namespace weft::model {
namespace {

// Bytes of each pair of ranks: what the first sends the second, all of it final.
std::vector<std::vector<Bytes>> bytes_by_pair(const BoundaryCollective& collective,
                                              const Site& site) {
  const auto ranks = static_cast<std::size_t>(collective.group);
  std::vector<std::vector<Bytes>> bytes(ranks, std::vector<Bytes>(ranks));
  for (const Transfer& each : library_transfers(collective, site, CollectiveAlgorithm::direct)) {
    bytes[static_cast<std::size_t>(each.from)][static_cast<std::size_t>(each.to)] +=
        bytes_of(collective.format, each.block.elements());
  }
  return bytes;
}

class Writer {
 public:
  Writer(const BoundaryCollective& collective, const std::vector<sim::StreamId>& streams,
         LayerProgram& program)
      : graph_(collective, program),
        grid_(program.site()),
        streams_(streams),
        gathers_(collective.op == CollectiveOp::all_gather),
        bytes_(bytes_by_pair(collective, program.site())) {
    for (int i = 0; i < grid_.nodes(); ++i) landed_.push_back(graph_.signals());
  }

  void write() {
    const RankSignals ready = graph_.signals(), done = graph_.signals();
    for (int rank = 0; rank < graph_.ranks(); ++rank) {
      const sim::StreamId stream = streams_[static_cast<std::size_t>(rank)];
      graph_.barrier(rank, stream, ready);
      if (grid_.nodes() > 1) put(rank, stream);
      copy_to_peers(rank, stream, rank);
      for (int back = 1; back < grid_.nodes(); ++back) {
        const auto from = static_cast<std::uint64_t>(gathers_ ? 1 : grid_.places());
        graph_.wait(rank, stream, landed(back, rank), from);
        if (gathers_) copy_to_peers(rank, stream, grid_.beside(rank, -back, 0));
      }
      graph_.barrier(rank, stream, done);
    }
  }

 private:
  sim::SignalId landed(int nodes_on, int rank) const {
    return landed_[static_cast<std::size_t>(nodes_on)][static_cast<std::size_t>(rank)];
  }
  Bytes bytes(int from, int to) const {
    return bytes_[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  // What `owner` has for the peers of this rank's node goes on from this rank.
  void copy_to_peers(int rank, sim::StreamId stream, int owner) {
    for (int step = 1; step < grid_.places(); ++step) {
      const int to = grid_.beside(rank, 0, step);
      graph_.copy(rank, stream, rank, to, bytes(owner, to), 0);
    }
  }
  // A gather's shard to the counterparts, an all-to-all's parts to every rank of other nodes.
  void put(int rank, sim::StreamId stream) {
    const sim::StreamId puts = graph_.program().stream(rank, "puts", true);
    graph_.join(rank, puts, stream);
    for (int on = 1; on < grid_.nodes(); ++on) {
      for (int step = 0; step < (gathers_ ? 1 : grid_.places()); ++step) {
        const int to = grid_.beside(rank, on, step);
        send_by_nic(graph_, grid_, rank, puts, to, bytes(rank, to), landed(on, to), on);
      }
    }
  }

  GraphWriter graph_;
  NodeGrid grid_;
  const std::vector<sim::StreamId>& streams_;
  bool gathers_;
  std::vector<std::vector<Bytes>> bytes_;
  std::vector<RankSignals> landed_;  // [nodes on][rank]
};

}  // namespace

void copy_without_ctas(const BoundaryCollective& collective,
                       const std::vector<sim::StreamId>& streams, LayerProgram& program) {
  Writer(collective, streams, program).write();
}

}  // namespace weft::model
