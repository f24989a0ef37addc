// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/flag_parts.hpp"

#include <algorithm>
#include <utility>

#include "models/schedules/chunks_by_rank.hpp"
#include "models/schedules/tile_walk.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

// A tile that straddles two chunks needs both to have arrived, and lets neither go before it is done: it counts to
// the later chunk of a gather and to the earlier one of a reduction. A chunk without a tile of its own hands its
// flags on.
std::vector<FlagPart> by_chunk(const FusedView& view, const ChunkPlan& plan, int rank,
                               const GemmCost& cost, const std::function<FlagWait(int)>& wait,
                               const std::function<std::vector<sim::SignalId>(int)>& posts) {
  const std::int64_t tiles_n = divide_up(view.work.rank.n, cost.kernel.tile_n);
  std::vector<FlagPart> parts;
  FlagPart part;
  std::int64_t rows = 0, tiles = 0;
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    rows += product_rows(view, plan, rank, chunk);
    part.rows += product_rows(view, plan, rank, chunk);
    const bool last = chunk + 1 == plan.size();
    const std::int64_t tiles_m =
        view.gathers && !last ? rows / cost.kernel.tile_m : divide_up(rows, cost.kernel.tile_m);
    part.tiles = tiles_m * tiles_n - tiles;
    if (view.gathers) {
      if (const FlagWait each = wait(chunk); each.posts > 0) part.waits.push_back(each);
    } else {
      const std::vector<sim::SignalId> set = posts(chunk);
      part.posts.insert(part.posts.end(), set.begin(), set.end());
    }
    if (part.tiles > 0) {
      tiles += part.tiles;
      parts.push_back(std::move(part));
      part = {};
    } else if (!view.gathers && !parts.empty()) {
      parts.back().rows += part.rows;
      parts.back().posts.insert(parts.back().posts.end(), part.posts.begin(), part.posts.end());
      part = {};
    }
  }
  if (!parts.empty()) {
    parts.back().rows += part.rows;
    parts.back().waits.insert(parts.back().waits.end(), part.waits.begin(), part.waits.end());
  }
  return parts;
}

// A chunk of a gather is waited for by every stretch that touches it; a reduction's is complete when all that touch
// it have posted.
std::vector<FlagPart> as_walked(const FusedView& view, const ChunkPlan& plan, int rank,
                                const GemmCost& cost, const std::function<FlagWait(int)>& wait,
                                const std::function<std::vector<sim::SignalId>(int)>& posts) {
  std::vector<FlagPart> parts;
  std::int64_t left = 0, rows = view.work.rank.m;
  const std::vector<TileStretch> walk = tile_walk(plan, rank, view.gathers, view.work.rank.n, cost);
  for (const TileStretch& stretch : walk) left += stretch.tiles;
  for (const TileStretch& stretch : walk) {
    FlagPart part;
    part.tiles = stretch.tiles;
    part.rows = narrow(Int128{rows} * stretch.tiles / left);
    rows -= part.rows;
    left -= stretch.tiles;
    for (const int chunk : stretch.chunks) {
      if (view.gathers) {
        if (const FlagWait each = wait(chunk); each.posts > 0) part.waits.push_back(each);
      } else {
        const std::vector<sim::SignalId> set = posts(chunk);
        part.posts.insert(part.posts.end(), set.begin(), set.end());
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::vector<FlagPart> flag_parts(const FusedView& view, const ChunkPlan& plan, int rank,
                                 const GemmCost& cost, const std::function<FlagWait(int)>& wait,
                                 const std::function<std::vector<sim::SignalId>(int)>& posts) {
  return plan.order() == ChunkOrder::rotated ? as_walked(view, plan, rank, cost, wait, posts)
                                             : by_chunk(view, plan, rank, cost, wait, posts);
}

}  // namespace weft::model
