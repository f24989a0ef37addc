// SPDX-License-Identifier: Apache-2.0
// The laws of an attribution: it accounts for all of the exposed time, and blames nothing that was left out.
#include "models/planner/attribution.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/schedules/registry.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

constexpr std::size_t switches = 8;

struct Case {
  BoundaryKind kind;
  std::string schedule;
  std::int64_t chunks = 0;  // 0: the schedule has no such knob
  std::string transport;
  std::vector<topology::Override> overrides;
};

std::vector<Case> cases() {
  return {{BoundaryKind::ag_gemm, "serial", 0, "", {}},
          {BoundaryKind::ag_gemm, "chunked", 4, "copy_engine", {{"rank1", 800}}},
          {BoundaryKind::gemm_rs, "device_flag", 4, "sm", {}},
          {BoundaryKind::gemm_a2a, "chunked", 2, "sm", {{"node0.gpu0->node0.nvswitch", 500}}}};
}

constexpr int ranks = 4;

Site site_of(const Case& each) {
  return test_site("h200x8.json", ranks, false, each.overrides);
}

Boundary boundary_of(const Case& each) {
  return make_boundary(each.kind, {8192, 8192, 8192}, {}, ranks);
}

ScheduleChoice choice_of(const Case& each) {
  const Schedule* schedule = find_schedule(each.schedule);
  Knobs knobs(schedule->info().knobs);
  if (each.chunks != 0) {
    knobs.set("chunks", each.chunks);
    knobs.set("transport", each.transport);
  }
  return {schedule, knobs};
}

std::string name(const Case& each) {
  return std::string(name_of(each.kind)) + " " + each.schedule + " " + each.transport;
}

const sim::Effects contended = sim::effects_of(sim::Fidelity::contended);

TEST(Attribution, PartsSumToTheExposedTime) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(name(each));
    const Site site = site_of(each);
    const Figures figures = evaluate(boundary_of(each), choice_of(each), site, contended);
    const Attribution attribution = attribute(boundary_of(each), choice_of(each), site, contended);
    Duration sum, transport, split;
    for (const Attribution::Part& part : attribution.parts) {
      sum += part.time;
      if (part.effect == "transport") transport = part.time;
    }
    for (const Attribution::Part& part : attribution.transport) split += part.time;
    // One part a switch, and what none of them explains.
    EXPECT_EQ(attribution.parts.size(), switches + 1);
    EXPECT_EQ(sum, figures.overlapped - figures.compute_only);
    EXPECT_EQ(split, transport);
  }
}

// A slow rank and a slow link cost what no other effect does; where nothing is slow, imbalance costs nothing.
TEST(Attribution, OverridesShowAsImbalance) {
  const auto imbalance = [](const std::vector<topology::Override>& overrides) {
    const Case each{BoundaryKind::ag_gemm, "chunked", 4, "copy_engine", overrides};
    for (const Attribution::Part& part :
         attribute(boundary_of(each), choice_of(each), site_of(each), contended).parts) {
      if (part.effect == "imbalance") return part.time;
    }
    return Duration();
  };
  const auto compute = [](const std::vector<topology::Override>& overrides) {
    const Case each{BoundaryKind::ag_gemm, "chunked", 4, "copy_engine", overrides};
    return evaluate(boundary_of(each), choice_of(each), site_of(each), contended).compute_only;
  };
  const std::vector<topology::Override> slow_rank = {{"rank1", 800}};
  const std::vector<topology::Override> slow_link = {{"node0.gpu0->node0.nvswitch", 250}};
  EXPECT_EQ(imbalance({}), Duration());
  // At four fifths of its speed a rank needs up to a quarter more for its tiles; where it waits for others, less.
  EXPECT_GT(imbalance(slow_rank) * 20, compute({}));
  EXPECT_GT(imbalance(slow_link), Duration());
  // A is of the machine as its file has it.
  EXPECT_EQ(compute(slow_rank), compute({}));
}

// What a fidelity leaves out is never blamed.
TEST(Attribution, EffectsThatTheFidelityLeavesOutHaveNoPart) {
  const Case each = cases()[1];
  sim::Effects effects = contended;
  effects.link_share = false;
  effects.hbm_share = false;
  for (const Attribution::Part& part :
       attribute(boundary_of(each), choice_of(each), site_of(each), effects).parts) {
    if (part.effect == "link_share" || part.effect == "hbm_share") {
      EXPECT_EQ(part.time, Duration()) << part.effect;
    }
  }
}

}  // namespace
}  // namespace weft::model
