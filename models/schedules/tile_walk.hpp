// SPDX-License-Identifier: Apache-2.0
// The order in which the shipped kernels walk a product's tiles, and which chunks each stretch of it touches.
//
// Tiles of a cluster go together. Groups of rows are walked one after the other, every column of a group before the
// next group, from a first row on and around (kernels/sm90/scheduler.cuh). A gather begins with the rank's own rows
// and a reduction with the next rank's; both walk a chunk's rows at a time, at most 2,048 and at least those of a
// cluster.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cost/gemm.hpp"
#include "models/schedules/chunk_plan.hpp"

namespace weft::model {

/// Tiles that follow each other in the walk and touch the same chunks.
struct TileStretch {
  std::int64_t tiles = 0;
  std::vector<int> chunks;  ///< of the plan, ascending
  friend bool operator==(const TileStretch&, const TileStretch&) = default;
};

/// Whether every rank walks as any other, from its own rows on: each owns as many whole clusters of tiles.
[[nodiscard]] bool ranks_walk_alike(std::int64_t rows, int ranks, const GemmCost& cost);

/// Rows of X whose tiles are walked across all columns before those of others, but for whole clusters.
[[nodiscard]] std::int64_t rows_together(const ChunkPlan& plan, int rank, bool gathers);

/// Tiles of the first `rows` rows of a product `columns` wide, parts of K counted: those of whole clusters. Rows at the
/// end that fill no cluster count where they are `whole`, a cluster of their own.
[[nodiscard]] std::int64_t tiles_of(const GemmCost& cost, std::int64_t rows, std::int64_t columns,
                                    bool whole);

/// The walk of a rank's product over all rows of the plan, `columns` wide, by the kernel of `cost`. With `own`, the
/// last chunk of a reduction, of the rank's own rows, is cut so: its cuts count from it on.
[[nodiscard]] std::vector<TileStretch> tile_walk(const ChunkPlan& plan, int rank, bool gathers,
                                                 std::int64_t columns, const GemmCost& cost,
                                                 const std::vector<RowRange>& own = {});

}  // namespace weft::model
