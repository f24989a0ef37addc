// SPDX-License-Identifier: Apache-2.0
// The tiles of a persistent product in the order in which its CTAs take them, with the flags that guard and follow
// them: by chunk, as a collective kernel needs its rows, or for rotated chunks as the shipped kernels walk.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/schedules/chunk_plan.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/tile_order.hpp"
#include "sim/program.hpp"

namespace weft::model {

struct FlagWait {
  sim::SignalId signal;
  std::uint64_t posts = 0;  ///< that it needs; none: it is satisfied
};

/// A run of tiles of the product with the flags before and after it.
struct FlagPart {
  std::int64_t tiles = 0;
  std::int64_t rows = 0;  ///< of X that they stand for
  std::vector<int>
      chunks;  ///< that they touch; of a rank's own rows that are cut, one for each cut from the last on
  std::vector<FlagWait> waits;
  std::vector<sim::SignalId> posts;
};

/// `wait` gives the flag that guards a chunk of a gather, `posts` the flags that a chunk of a reduction sets. A rotated
/// plan's own rows may be cut, as `own` says.
[[nodiscard]] std::vector<FlagPart> flag_parts(
    const FusedView& view, const ChunkPlan& plan, int rank, const GemmCost& cost,
    const std::function<FlagWait(int)>& wait,
    const std::function<std::vector<sim::SignalId>(int)>& posts,
    const std::vector<RowRange>& own = {});

/// The price of a rank's persistent product beside the margin of the knobs.
[[nodiscard]] const GemmCost& flag_cost(const FusedView& view, const Knobs& knobs,
                                        std::string_view label, const LayerProgram& program,
                                        int rank);

/// The price with what lies behind a tile that posts flags (models/cost/tile_flags.hpp), which comes once: each chunk's
/// flag, and the end of the launch, are that much later than their last tile.
[[nodiscard]] GemmCost posting(const FusedView& view, const ChunkPlan& plan, GemmCost cost,
                               const Site& site);

/// What its tiles take in the order of their chunks: operands are read again, and what lies behind a tile that posts
/// flags shows where the next one is shorter.
[[nodiscard]] OrderedTiles flag_tiles(const FusedView& view, const ChunkPlan& plan,
                                      const GemmCost& cost, const Site& site, int rank);

/// Begins a launch of that product alone, for its tiles to follow.
[[nodiscard]] sim::KernelWriter begin_flag_product(const GemmCost& cost, std::string_view label,
                                                   LayerProgram& program);

}  // namespace weft::model
