// SPDX-License-Identifier: Apache-2.0
// On ranks that are alike weft's own schedules fold, published ones do or say why not, and a folded
// run is the whole one: a search runs one rank instead of all.
#include "sim/fold.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "models/planner/evaluate.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/tile_walk.hpp"
#include "sim/run.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

// The names of each knob, all of them, and of its counts the default or what leaves room for CTAs.
Knobs pinned(const Schedule& schedule) {
  Knobs knobs;
  for (const KnobSpec& spec : schedule.info().knobs) {
    if (!std::holds_alternative<std::int64_t>(spec.default_value)) continue;
    knobs.set(spec.name, spec.name == "margin" ? spec.values.back() : spec.default_value);
  }
  return knobs;
}

TEST(Folding, EverySchedulesRanksAreAlikeOnAnEvenMachine) {
  constexpr int kRanks = 4;
  const Site site = test_site("h200x8.json", kRanks);
  for (const BoundaryKind kind : every_boundary_kind) {
    const Boundary boundary = make_boundary(kind, {2048L * kRanks, 1024, 512}, {}, kRanks);
    for (const Schedule* schedule : all_schedules()) {
      for (const Knobs& knobs : all_combinations(schedule->info().knobs, pinned(*schedule))) {
        if (!schedule->refusals(boundary, knobs, site).empty()) continue;
        SCOPED_TRACE(boundary.name + ", " + schedule->info().name + " " + knobs.to_text());
        const sim::Program program = boundary_program(boundary, {schedule, knobs}, site);
        const sim::Folded folded = sim::fold(site.built.machine, program);
        // Published schedules may look into a peer's memory, which no fold can show; weft's own never do.
        const bool is_published = schedule->info().name.find('.') != std::string::npos;
        if (is_published && !folded.refused.empty()) continue;
        ASSERT_EQ(folded.refused, "");
        EXPECT_EQ(folded.ranks_folded, kRanks);
        EXPECT_EQ(sim::run(folded.machine, folded.program).end,
                  sim::run(site.built.machine, program).end);
      }
    }
  }
}

// What the parts of a flagged product rest on: where all own as many whole clusters of tiles, a rank's stretches touch
// the same chunks of its own plan as the first rank's.
TEST(Folding, RanksThatOwnWholeClustersWalkAlike) {
  GemmCost cost;
  cost.kernel.tile_m = 128;
  cost.kernel.tile_n = 256;
  cost.kernel.cluster_m = 2;
  EXPECT_FALSE(ranks_walk_alike(4 * 384, 4, cost));
  EXPECT_FALSE(ranks_walk_alike(4 * 512 + 1, 4, cost));
  for (const int ranks : {2, 4, 7}) {
    for (const int chunks : {1, 3, 8, 12}) {
      for (const bool gathers : {true, false}) {
        const ChunkPlan plan(512L * ranks, ranks, chunks, ChunkOrder::rotated, gathers);
        ASSERT_TRUE(ranks_walk_alike(512L * ranks, ranks, cost));
        const auto first = tile_walk(plan, 0, gathers, 1000, cost);
        for (int rank = 1; rank < ranks; ++rank) {
          EXPECT_EQ(tile_walk(plan, rank, gathers, 1000, cost), first)
              << rank << " of " << ranks << ", " << chunks << " chunks";
          EXPECT_EQ(rows_together(plan, rank, gathers), rows_together(plan, 0, gathers));
          for (int chunk = 0; chunk < plan.size(); ++chunk)
            EXPECT_EQ(plan.rows_of(rank, chunk), plan.rows_of(0, chunk));
        }
      }
    }
  }
}

// Memory that earlier points leave changes nothing, be it of larger programs or of one that did not fold.
TEST(Folding, SpentMemoryLeavesNothingBehind) {
  const Site site = test_site("h200x8.json", 4);
  Site uneven = site;
  uneven.built.machine.devices.front().speed_permille = 500;
  sim::Program program;
  sim::Folded folded;
  bool refused = false;
  const Site* const sites[] = {&site, &uneven, &site};
  for (const Site* at : sites) {
    const int ranks = at->ranks();
    const Boundary boundary =
        make_boundary(BoundaryKind::gemm_rs, {3072L * ranks, 1024, 2560}, {}, ranks);
    for (const Schedule* schedule : all_schedules()) {
      const Knobs knobs(schedule->info().knobs);
      if (!schedule->refusals(boundary, knobs, *at).empty()) continue;
      SCOPED_TRACE(schedule->info().name);
      const sim::Program fresh = boundary_program(boundary, {schedule, knobs}, *at);
      program = boundary_program(boundary, {schedule, knobs}, *at, std::move(program));
      EXPECT_TRUE(program == fresh);
      const sim::Folded alone = sim::fold(at->built.machine, fresh);
      folded = sim::fold(at->built.machine, fresh, std::move(folded));
      EXPECT_TRUE(folded.machine == alone.machine);
      EXPECT_TRUE(folded.program == alone.program);
      EXPECT_EQ(folded.refused, alone.refused);
      EXPECT_EQ(folded.ranks_folded, alone.ranks_folded);
      refused = refused || !alone.refused.empty();
    }
  }
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace weft::model
