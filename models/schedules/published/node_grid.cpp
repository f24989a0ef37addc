// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/node_grid.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "sim/units/check.hpp"

namespace weft::model {
namespace {

int round_trip(int value, int size) {
  return ((value % size) + size) % size;
}

// Ranks of each node, by node.
std::map<std::int64_t, std::vector<int>> ranks_by_node(const Site& site) {
  std::map<std::int64_t, std::vector<int>> nodes;
  for (int rank = 0; rank < site.ranks(); ++rank)
    nodes[site.built.node_of_rank.at(static_cast<std::size_t>(rank))].push_back(rank);
  return nodes;
}

Block block_of_owner(const BoundaryCollective& collective, int owner) {
  const RowRange rows = shard_of(collective.extent.rows, collective.group, owner);
  return {rows.begin, rows.rows(), 0, collective.extent.columns};
}

}  // namespace

NodeGrid::NodeGrid(const Site& site)
    : node_(static_cast<std::size_t>(site.ranks())), place_(node_.size()) {
  for (const auto& [node, ranks] : ranks_by_node(site)) {
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      node_[static_cast<std::size_t>(ranks[place])] = static_cast<int>(ranks_.size());
      place_[static_cast<std::size_t>(ranks[place])] = static_cast<int>(place);
    }
    ranks_.push_back(ranks);
  }
}

int NodeGrid::beside(int rank, int nodes_on, int places_on) const {
  const auto node = static_cast<std::size_t>(round_trip(this->node(rank) + nodes_on, nodes()));
  const auto place = static_cast<std::size_t>(round_trip(this->place(rank) + places_on, places()));
  return ranks_[node][place];
}

std::vector<int> NodeGrid::node_of(int rank) const {
  return ranks_[static_cast<std::size_t>(node(rank))];
}

void require_grid(const Site& site, Rules& broken) {
  const auto nodes = ranks_by_node(site);
  require(broken,
          std::all_of(
              nodes.begin(), nodes.end(),
              [&](const auto& each) { return each.second.size() == nodes.begin()->second.size(); }),
          fmt::format("every node must hold the same number of ranks, and {} ranks are on {} nodes",
                      site.ranks(), nodes.size()));
  require(broken, nodes.size() == 1 || site.fabric.nic_per_direction > Bandwidth(),
          "its messages between nodes need NICs, and these nodes have none");
}

void send_by_nic(GraphWriter& graph, const NodeGrid& grid, int rank, sim::StreamId stream, int to,
                 Bytes bytes, sim::SignalId arrived, int chunk) {
  if (bytes == Bytes()) {
    graph.post(rank, stream, arrived, chunk);
    return;
  }
  LayerProgram& program = graph.program();
  const sim::RouteId route = graph.route(rank, to);
  const sim::Machine& machine = program.site().built.machine;
  const auto nic = machine.routes.at(route.value()).nic;
  WEFT_CHECK(nic.has_value(), "ranks {} and {} are joined by no NIC", rank, to);
  const int pairs = std::max(1, machine.nics.at(nic->value()).queue_pairs);
  const int distance = round_trip(grid.node(to) - grid.node(rank), grid.nodes());
  program.tag(rank, chunk, sim::Purpose::communication);
  program.host(rank).labelled("put").message(stream, route, (distance - 1) % pairs, bytes,
                                             {sim::SignalPost::Kind::add, arrived, 1, {}});
}

std::vector<Transfer> grid_transfers(const BoundaryCollective& collective, const NodeGrid& grid) {
  const bool reduces = collective.op != CollectiveOp::all_gather;
  std::vector<Transfer> all;
  const auto add = [&](Transfer::Kind kind, int from, int to, int owner, std::vector<int> addends,
                       int step) {
    Block block = block_of_owner(collective, owner);
    if (block.empty() || from == to) return;
    all.push_back({kind, from, to, block, std::move(addends), 0, step, false});
  };
  for (int rank = 0; rank < collective.group; ++rank) {
    for (int nodes_on = 0; nodes_on < grid.nodes(); ++nodes_on) {
      for (int places_on = 0; places_on < grid.places(); ++places_on) {
        const int owner = grid.beside(rank, nodes_on, places_on);
        const int peer = grid.beside(rank, 0, places_on);  // of the owner's place in this node
        if (reduces) {
          add(Transfer::Kind::reduce, rank, peer, owner, {rank}, 0);
        } else {
          add(Transfer::Kind::gather, peer, rank, owner, {}, nodes_on == 0 ? 0 : 1);
        }
      }
      const int counterpart = grid.beside(rank, nodes_on, 0);
      if (reduces) {
        add(Transfer::Kind::reduce, rank, counterpart, counterpart, grid.node_of(rank), 1);
      } else {
        add(Transfer::Kind::gather, rank, counterpart, rank, {}, 0);
      }
    }
  }
  return all;
}

}  // namespace weft::model
