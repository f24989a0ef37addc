// SPDX-License-Identifier: Apache-2.0
// The tiles of a persistent product in the order in which its CTAs take them, with the flags that guard and follow
// them: by chunk, as a collective kernel needs its rows, or for rotated chunks as the shipped kernels walk.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/schedules/chunk_plan.hpp"
#include "models/schedules/fused.hpp"
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
  std::vector<FlagWait> waits;
  std::vector<sim::SignalId> posts;
};

/// `wait` gives the flag that guards a chunk of a gather, `posts` the flags that a chunk of a reduction sets.
[[nodiscard]] std::vector<FlagPart> flag_parts(
    const FusedView& view, const ChunkPlan& plan, int rank, const GemmCost& cost,
    const std::function<FlagWait(int)>& wait,
    const std::function<std::vector<sim::SignalId>(int)>& posts);

}  // namespace weft::model
