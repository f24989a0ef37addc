// SPDX-License-Identifier: Apache-2.0
// A layer runs on every machine that is shipped: its kernels fit the SMs, and peers talk over their fastest links.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "models/planner/plan.hpp"
#include "models/planner/read_scenario.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/site.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("configs/machines")) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().filename());
  }
  return names;
}

TEST(Machines, EveryOneRunsALayerOfAModel) {
  config::SearchPath search;
  search.configs = {"configs"};
  for (const std::string& machine : machines()) {
    for (const char* phase : {R"("prefill")", R"("decode", "sequence": 1024)"}) {
      SCOPED_TRACE(machine + " " + phase);
      const std::string text = fmt::format(
          R"({{"schema": "weft.scenario/1", "name": "x", "model": {{"model": "models/llama3.2-1b.json",
               "machine": "machines/{}", "ranks": 2, "phase": {}, "tokens": 64, "layout": "tp=2",
               "schedules": ["serial"]}}}})",
          machine, phase);
      const Scenario scenario = read_scenario(config::Document::parse(text, "x.json"), search);
      const Plan plan = make_plan(scenario, search, {});
      ASSERT_EQ(plan.layouts.size(), 1U);
      EXPECT_GT(plan.layouts.front().step, Duration());
    }
  }
}

// A profile may lack what a schedule needs: its rules say so, and the rest can be planned.
TEST(Machines, EveryScheduleSaysWhetherItRuns) {
  for (const std::string& machine : machines()) {
    const Site site = test_site(machine, 4);
    for (const BoundaryKind kind : every_boundary_kind) {
      const Boundary boundary = make_boundary(kind, {4096, 4096, 4096}, {}, 4);
      for (const Schedule* schedule : all_schedules()) {
        SCOPED_TRACE(machine + " " + schedule->info().name);
        EXPECT_NO_THROW(
            static_cast<void>(schedule->refusals(boundary, Knobs(schedule->info().knobs), site)));
      }
    }
  }
}

// Neighbours share a root on some machines, which is nearer than the switch and carries less.
TEST(Machines, NeighboursReachEachOtherAsFastAsOthersDo) {
  for (const std::string& machine : machines()) {
    SCOPED_TRACE(machine);
    const Site site = test_site(machine, 4);
    const auto rate = [&](std::size_t from, std::size_t to) {
      const sim::Route& route = site.built.machine.routes.at(site.built.unicast[from][to].value());
      double least = 1e18;
      for (const sim::RouteShare& share : route.shares) {
        if (share.on != sim::RouteShare::On::link) continue;
        const sim::Link& link = site.built.machine.links.at(share.index);
        least =
            std::min(least, static_cast<double>(link.capacity_per_direction.bytes_per_second()) *
                                static_cast<double>(route.denominator) /
                                static_cast<double>(share.numerator));
      }
      return least;
    };
    EXPECT_GE(rate(0, 1), rate(0, 3));
  }
}

}  // namespace
}  // namespace weft::model
