// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/flag_parts.hpp"

#include <algorithm>
#include <utility>

#include "models/cost/gemm_pricer.hpp"
#include "models/cost/tile_flags.hpp"
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
  std::vector<FlagPart> parts;
  FlagPart part;
  std::int64_t rows = 0, tiles = 0;
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    const std::int64_t more = product_rows(view, plan, rank, chunk);
    rows += more;
    part.rows += more;
    part.chunks.push_back(chunk);
    const bool last = chunk + 1 == plan.size();
    part.tiles = tiles_of(cost, rows, view.work.rank.n, !view.gathers || last) - tiles;
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
      parts.back().chunks.push_back(chunk);
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
                                const std::function<std::vector<sim::SignalId>(int)>& posts,
                                const std::vector<RowRange>& own) {
  std::vector<FlagPart> parts;
  std::int64_t left = 0, rows = view.work.rank.m;
  const std::vector<TileStretch> walk =
      tile_walk(plan, rank, view.gathers, view.work.rank.n, cost, own);
  for (const TileStretch& stretch : walk) left += stretch.tiles;
  for (const TileStretch& stretch : walk) {
    FlagPart part;
    part.tiles = stretch.tiles;
    part.chunks = stretch.chunks;
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
                                 const std::function<std::vector<sim::SignalId>(int)>& posts,
                                 const std::vector<RowRange>& own) {
  return plan.order() == ChunkOrder::rotated ? as_walked(view, plan, rank, cost, wait, posts, own)
                                             : by_chunk(view, plan, rank, cost, wait, posts);
}

const GemmCost& flag_cost(const FusedView& view, const Knobs& knobs, std::string_view label,
                          const LayerProgram& program, int rank) {
  return program.gemm_cost(rank, {&view.work, view.work.rank.m, GemmLibrary::ours,
                                  static_cast<int>(knobs.count("margin")), label});
}

namespace {

// What lies behind each tile of a reduction, whose last chunk is of the rank's own rows; nothing where tiles post no
// flags.
Duration behind_a_tile(const FusedView& view, const ChunkPlan& plan, const GemmCost& cost,
                       const Site& site) {
  if (view.gathers) return {};
  const double chunks = chunks_of_tile(view.work.rank.m, rows_of_a_store(cost.kernel),
                                       plan.size() > 0 ? plan.rows_of(0, 0) : 0);
  return behind_tile(site.profile, cost.kernel, cost.split_k, chunks);
}

}  // namespace

GemmCost posting(const FusedView& view, const ChunkPlan& plan, GemmCost cost, const Site& site) {
  // Each tile carries what shows of the one before it; the first has none.
  const Duration behind = behind_a_tile(view, plan, cost, site);
  cost.start = std::max(Duration(),
                        cost.start + shown_behind(site.profile, cost.kernel, cost.split_k, behind) -
                            exposed_behind(cost.kernel, behind, cost.tile_time()));
  return cost;
}

OrderedTiles flag_tiles(const FusedView& view, const ChunkPlan& plan, const GemmCost& cost,
                        const Site& site, int rank) {
  OrderedTiles tiles{cost.tile_time(), cost.hbm_per_tile};
  if (site.prices_tile_order && plan.order() == ChunkOrder::rotated)
    tiles = tiles_in_order(site.profile, view.work, cost, rows_together(plan, rank, view.gathers),
                           site.sms(rank).sharers());
  tiles.tile_time +=
      exposed_behind(cost.kernel, behind_a_tile(view, plan, cost, site), tiles.tile_time);
  return tiles;
}

sim::KernelWriter begin_flag_product(const GemmCost& cost, std::string_view label,
                                     LayerProgram& program) {
  constexpr int waiting_issue_milli = 10;  // one polling thread, a hundredth of an SM
  sim::KernelWriter kernel = program.builder().kernel(label, static_cast<int>(cost.resident));
  kernel.cluster(static_cast<int>(cost.kernel.cluster_m * cost.kernel.cluster_n))
      .footprint(cost.footprint)
      .prologue(program.beyond_launch(cost.start))
      .role(sim::Purpose::compute, sim::TileOrder::static_shares)
      .spin(waiting_issue_milli);
  return kernel;
}

}  // namespace weft::model
