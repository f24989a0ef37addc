// SPDX-License-Identifier: Apache-2.0
// The transfers that a collective algorithm makes for one chunk, as its definition gives them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/schedules/transfer.hpp"

namespace weft::model {

/// What an algorithm needs to know of the chunk and the group.
struct ChunkGeometry {
  CollectiveOp op = CollectiveOp::all_gather;
  int ranks = 1;
  std::vector<std::int64_t> node_of_rank;
  /// The block that `owner` owns: what it contributes to a gather, or is left with after a reduction.
  std::function<Block(int owner)> owned;
  /// The block that `from` sends to `to` in an all-to-all.
  std::function<Block(int from, int to)> exchanged;
  int chunk = 0;
};

/// Transfers of the chunk, empty blocks left out. An all-to-all has one way, whatever the algorithm.
[[nodiscard]] std::vector<Transfer> algorithm_transfers(CollectiveAlgorithm algorithm,
                                                        const ChunkGeometry& geometry);

}  // namespace weft::model
