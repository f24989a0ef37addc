// SPDX-License-Identifier: Apache-2.0
// The laws of a search: it loses nothing, and does not depend on threads.
#include "models/planner/search.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/schedules/registry.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

struct Space {
  BoundaryKind kind;
  MatmulShape global;
  int ranks;
  Knobs fixed;
};

Knobs knobs(const std::string& order, std::int64_t margin) {
  Knobs fixed;
  fixed.set("pace", "95%");
  fixed.set("order", order);
  fixed.set("margin", margin);
  return fixed;
}

// Dozens to hundreds of points each: sizes at which communication is most of the time, and at which it is little of it.
std::vector<Space> spaces() {
  Knobs margins;
  margins.set("chunks", std::int64_t{2});
  margins.set("ctas", std::int64_t{8});
  margins.set("pace", "free");
  return {{BoundaryKind::ag_gemm, {8192, 4096, 4096}, 8, knobs("rotated", 16)},
          {BoundaryKind::gemm_rs, {2048, 1024, 4096}, 2, margins},
          {BoundaryKind::gemm_ar, {4096, 4096, 1024}, 4, margins},
          {BoundaryKind::gemm_a2a, {4096, 2048, 8192}, 4, knobs("sliced", 8)},
          {BoundaryKind::gemm_rs, {16384, 8192, 16384}, 8, knobs("sliced", 24)}};
}

BoundarySearch search_of(const Space& space, bool exhaustive, unsigned threads) {
  SearchOptions options;
  options.exhaustive = exhaustive;
  options.threads = threads;
  options.fixed = space.fixed;
  const Site site = test_site("h200x8.json", space.ranks);
  return search(make_boundary(space.kind, space.global, {}, space.ranks), site,
                sim::effects_of(sim::Fidelity::contended), options);
}

// "schedule knobs: picoseconds", best first.
std::vector<std::string> ranking(const BoundarySearch& found) {
  std::vector<std::string> lines;
  for (const Candidate& each : found.best) {
    lines.push_back(each.choice.schedule->info().name + " " + each.choice.knobs.to_text() + ": " +
                    std::to_string(each.figures.overlapped.ps()));
  }
  return lines;
}

std::string name(const Space& space) {
  return std::string(name_of(space.kind)) + " on " + std::to_string(space.ranks);
}

TEST(Search, BoundedFindsThePickAndTopTenOfTheExhaustive) {
  std::int64_t pruned = 0;
  for (const Space& space : spaces()) {
    SCOPED_TRACE(name(space));
    const BoundarySearch bounded = search_of(space, false, 2);
    pruned += bounded.count.pruned;
    const BoundarySearch whole = search_of(space, true, 2);
    EXPECT_EQ(ranking(bounded), ranking(whole));
    EXPECT_FALSE(bounded.best.empty());
    EXPECT_EQ(whole.count.pruned, 0);
    EXPECT_LE(bounded.count.simulated, whole.count.simulated);
    EXPECT_EQ(bounded.count.space, whole.count.space);
    EXPECT_EQ(bounded.illegal, whole.illegal);
    for (const BoundarySearch* found : {&bounded, &whole}) {
      const SearchCount& count = found->count;
      EXPECT_EQ(count.space, count.simulated + count.equivalent + count.pruned);
      EXPECT_GT(count.space, 10);
    }
  }
  EXPECT_GT(pruned, 0) << "no bound excluded anything: the comparison shows nothing";
}

// NVLinks slower than PCI Express: peers meet where the sockets do, and the link that they share there is the bound.
TEST(Search, IsBoundByALinkThatOthersShare) {
  topology::MachineSpec machine = test_machine("h200x8.json");
  machine.node.links.front().bandwidth_per_direction.value =
      Bandwidth::from_bytes_per_second(40'000'000'000);
  const Site site = test_site(machine, 8);
  SearchOptions options;
  options.fixed.set("pace", "free");
  options.fixed.set("chunks", std::int64_t{2});
  options.fixed.set("margin", std::int64_t{24});
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 4096, 8192}, {}, 8);
  const sim::Effects effects = sim::effects_of(sim::Fidelity::contended);
  const BoundarySearch bounded = search(boundary, site, effects, options);
  EXPECT_GT(bounded.count.pruned, 0);
  options.exhaustive = true;
  EXPECT_EQ(ranking(bounded), ranking(search(boundary, site, effects, options)));
}

TEST(Search, DoesNotDependOnThreads) {
  for (const Space& space : spaces()) {
    SCOPED_TRACE(name(space));
    const BoundarySearch one = search_of(space, false, 1);
    const BoundarySearch three = search_of(space, false, 3);
    EXPECT_EQ(ranking(one), ranking(three));
    EXPECT_EQ(one.count, three.count);
    EXPECT_EQ(one.deadlocks, three.deadlocks);
    EXPECT_EQ(one.first_deadlock, three.first_deadlock);
    EXPECT_EQ(one.most_common_refusal, three.most_common_refusal);
  }
}

// Best first, the serial one among what was simulated, and nothing that cannot end: a figure is a finished run.
// With few rows some chunks, and some ranks, have no product at all.
TEST(Search, FewRowsAreSearchedLikeMany) {
  for (const BoundaryKind kind : every_boundary_kind) {
    for (const std::int64_t rows : {136, 8}) {
      SCOPED_TRACE(rows);
      const BoundarySearch found = search_of({kind, {rows, 1024, 1024}, 8, {}}, false, 2);
      EXPECT_FALSE(found.best.empty());
      EXPECT_EQ(found.count.space,
                found.count.simulated + found.count.equivalent + found.count.pruned);
    }
  }
}

TEST(Search, RanksFinishedRunsOnly) {
  for (const Space& space : spaces()) {
    SCOPED_TRACE(name(space));
    const BoundarySearch found = search_of(space, false, 2);
    EXPECT_TRUE(std::is_sorted(found.best.begin(), found.best.end(),
                               [](const Candidate& a, const Candidate& b) {
                                 return a.figures.overlapped < b.figures.overlapped;
                               }));
    for (const Candidate& each : found.best) EXPECT_GT(each.figures.overlapped, Duration());
    EXPECT_LE(found.best.front().figures.overlapped, found.serial.figures.overlapped);
    EXPECT_EQ(found.serial.choice.schedule->info().name, "serial");
    EXPECT_LE(static_cast<std::int64_t>(found.best.size()) + found.deadlocks,
              found.count.simulated);
  }
}

// A pick is what one gets by simulating it alone.
TEST(Search, PickTakesTheTimeThatItSays) {
  const Space space = spaces().front();
  const Candidate pick = search_of(space, false, 1).best.front();
  const Site site = test_site("h200x8.json", space.ranks);
  const Boundary boundary = make_boundary(space.kind, space.global, {}, space.ranks);
  EXPECT_EQ(overlapped_only(boundary, pick.choice, site, sim::effects_of(sim::Fidelity::contended)),
            pick.figures);
}

TEST(Search, StopsWhenAskedTo) {
  SearchOptions options;
  options.fixed = spaces().front().fixed;
  options.progress = [](std::int64_t, std::int64_t) { return false; };
  const Site site = test_site("h200x8.json", 2);
  const Boundary boundary = make_boundary(BoundaryKind::ag_gemm, {1024, 1024, 1024}, {}, 2);
  EXPECT_THROW(static_cast<void>(search(boundary, site, {}, options)), SearchStopped);
}

}  // namespace
}  // namespace weft::model
