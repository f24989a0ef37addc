// SPDX-License-Identifier: Apache-2.0
// Ring: rank r passes to r+1 what it got a step before; a reduction of owner o's block starts at o+1 and ends at
// o. Direct and NVLS: every peer to the owner, the owner to every peer. Tree: two binary trees, each for half of
// the blocks, the second shifted by a rank. Hierarchical: inside the node direct, between nodes a ring over the
// ranks of one place. Collnet: the same, but a switch adds the parts of all nodes and sends the sum to each.
#include "models/schedules/algorithm_transfers.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace weft::model {
namespace {

class Emitter {
 public:
  explicit Emitter(const ChunkGeometry& geometry) : g_(geometry) {}

  void gather(int from, int to, const Block& block, int step, bool in_network = false) {
    add({Transfer::Kind::gather, from, to, block, {}, g_.chunk, step, in_network});
  }
  void reduce(int from, int to, const Block& block, std::vector<int> addends, int step,
              bool in_network = false) {
    std::sort(addends.begin(), addends.end());
    add({Transfer::Kind::reduce, from, to, block, std::move(addends), g_.chunk, step, in_network});
  }
  std::vector<Transfer> take() { return std::move(transfers_); }

 private:
  void add(Transfer transfer) {
    if (!transfer.block.empty() && transfer.from != transfer.to)
      transfers_.push_back(std::move(transfer));
  }
  const ChunkGeometry& g_;
  std::vector<Transfer> transfers_;
};

// `members` in ring order; `blocks[i]` is owned by members[i]. Member i's addends are `addends[i]`.
void ring_reduce_scatter(Emitter& out, const std::vector<int>& members,
                         const std::vector<Block>& blocks,
                         const std::vector<std::vector<int>>& addends, int first_step) {
  const int n = static_cast<int>(members.size());
  for (int owner = 0; owner < n; ++owner) {
    std::vector<int> carried;
    for (int step = 0; step < n - 1; ++step) {
      const int from = (owner + 1 + step) % n;
      const std::vector<int>& own = addends[static_cast<std::size_t>(from)];
      carried.insert(carried.end(), own.begin(), own.end());
      out.reduce(members[static_cast<std::size_t>(from)],
                 members[static_cast<std::size_t>((from + 1) % n)],
                 blocks[static_cast<std::size_t>(owner)], carried, first_step + step);
    }
  }
}

void ring_all_gather(Emitter& out, const std::vector<int>& members,
                     const std::vector<Block>& blocks, int first_step) {
  const int n = static_cast<int>(members.size());
  for (int owner = 0; owner < n; ++owner) {
    for (int step = 0; step < n - 1; ++step) {
      const int from = (owner + step) % n;
      out.gather(members[static_cast<std::size_t>(from)],
                 members[static_cast<std::size_t>((from + 1) % n)],
                 blocks[static_cast<std::size_t>(owner)], first_step + step);
    }
  }
}

void direct_reduce_scatter(Emitter& out, const std::vector<int>& members,
                           const std::vector<Block>& blocks, int step, bool in_network) {
  for (std::size_t owner = 0; owner < members.size(); ++owner) {
    for (const int from : members)
      out.reduce(from, members[owner], blocks[owner], {from}, step, in_network);
  }
}

void direct_all_gather(Emitter& out, const std::vector<int>& members,
                       const std::vector<Block>& blocks, int step, bool in_network) {
  for (std::size_t owner = 0; owner < members.size(); ++owner) {
    for (const int to : members) out.gather(members[owner], to, blocks[owner], step, in_network);
  }
}

// An in-order binary tree over ranks first .. first+n-1 (mod n): a subtree is a run of ranks.
struct TreeWalk {
  Emitter& out;
  const std::vector<Block>& blocks;
  int n;
  int shift;

  int rank(int place) const { return (place + shift) % n; }
  // Returns the depth of the subtree [begin, end) and emits it.
  void visit(int begin, int end, int parent, int depth, int most) const {
    if (begin >= end) return;
    const int root = begin + (end - begin) / 2;
    if (parent >= 0) {
      std::vector<int> addends;
      for (int place = begin; place < end; ++place) addends.push_back(rank(place));
      for (const Block& block : blocks) {
        out.reduce(rank(root), rank(parent), block, addends, most - depth);
        out.gather(rank(parent), rank(root), block, most + depth);
      }
    }
    visit(begin, root, root, depth + 1, most);
    visit(root + 1, end, root, depth + 1, most);
  }
};

void tree_all_reduce(Emitter& out, int ranks, const std::vector<Block>& blocks) {
  int depth = 0;
  while ((1 << depth) < ranks + 1) ++depth;
  std::vector<Block> halves[2];
  for (std::size_t i = 0; i < blocks.size(); ++i) halves[i % 2].push_back(blocks[i]);
  for (const int tree : {0, 1})
    TreeWalk{out, halves[tree], ranks, tree}.visit(0, ranks, -1, 0, depth);
}

// Every member's addends, added on the way, come to every member.
void sum_in_network(Emitter& out, const std::vector<int>& members, const Block& block,
                    const std::vector<std::vector<int>>& addends) {
  for (std::size_t from = 0; from < members.size(); ++from) {
    for (const int to : members) out.reduce(members[from], to, block, addends[from], 1, true);
  }
}

// Node by node inside, then a ring over the nodes for each place of a rank in its node.
void hierarchical(Emitter& out, const ChunkGeometry& g, const std::vector<Block>& blocks,
                  bool adds_on_the_way) {
  std::map<std::int64_t, std::vector<int>> nodes;
  for (int rank = 0; rank < g.ranks; ++rank)
    nodes[g.node_of_rank.at(static_cast<std::size_t>(rank))].push_back(rank);
  const std::size_t places = nodes.begin()->second.size();
  const int node_steps = static_cast<int>(nodes.size()) - 1;
  const bool reduces = g.op != CollectiveOp::all_gather;
  const bool gathers = g.op != CollectiveOp::reduce_scatter;
  const bool in_network = adds_on_the_way && reduces && gathers;
  for (std::size_t place = 0; place < places; ++place) {
    // The ranks of this place carry, together, the blocks that belong to any of them.
    std::vector<int> column;
    std::vector<Block> own;
    std::vector<std::vector<int>> node_ranks;
    for (const auto& [node, ranks] : nodes) {
      column.push_back(ranks.at(place));
      own.push_back(blocks[static_cast<std::size_t>(ranks.at(place))]);
      node_ranks.push_back(ranks);
    }
    if (reduces) {
      for (const auto& ranks : node_ranks) {
        for (const int from : ranks) {
          for (const Block& block : own) out.reduce(from, ranks.at(place), block, {from}, 0);
        }
      }
      if (in_network) {
        for (const Block& block : own) sum_in_network(out, column, block, node_ranks);
      } else {
        ring_reduce_scatter(out, column, own, node_ranks, 1);
      }
    }
    if (gathers) {
      if (!in_network) ring_all_gather(out, column, own, reduces ? 1 + node_steps : 0);
      for (const auto& ranks : node_ranks) {
        for (const int to : ranks) {
          for (const Block& block : own) {
            out.gather(ranks.at(place), to, block, (reduces ? 1 + node_steps : 0) + node_steps);
          }
        }
      }
    }
  }
}

}  // namespace

std::vector<Transfer> algorithm_transfers(CollectiveAlgorithm algorithm, const ChunkGeometry& g) {
  Emitter out(g);
  std::vector<int> all(static_cast<std::size_t>(g.ranks));
  std::iota(all.begin(), all.end(), 0);
  if (g.op == CollectiveOp::all_to_all) {
    for (const int from : all) {
      for (const int to : all) out.gather(from, to, g.exchanged(from, to), 0);
    }
    return out.take();
  }
  std::vector<Block> blocks;
  std::vector<std::vector<int>> alone;
  for (const int rank : all) {
    blocks.push_back(g.owned(rank));
    alone.push_back({rank});
  }
  const bool reduces = g.op != CollectiveOp::all_gather;
  const bool gathers = g.op != CollectiveOp::reduce_scatter;
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      if (reduces) ring_reduce_scatter(out, all, blocks, alone, 0);
      if (gathers) ring_all_gather(out, all, blocks, reduces ? g.ranks - 1 : 0);
      break;
    case CollectiveAlgorithm::tree:
      tree_all_reduce(out, g.ranks, blocks);
      break;
    case CollectiveAlgorithm::direct:
    case CollectiveAlgorithm::nvls: {
      const bool in_network = algorithm == CollectiveAlgorithm::nvls;
      if (reduces) direct_reduce_scatter(out, all, blocks, 0, in_network);
      if (gathers) direct_all_gather(out, all, blocks, reduces ? 1 : 0, in_network);
      break;
    }
    case CollectiveAlgorithm::hierarchical:
      hierarchical(out, g, blocks, false);
      break;
    case CollectiveAlgorithm::collnet:
      hierarchical(out, g, blocks, true);
      break;
  }
  return out.take();
}

}  // namespace weft::model
