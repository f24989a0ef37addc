// SPDX-License-Identifier: Apache-2.0
// What a pick's sentence claims is what its figures say.
#include "models/planner/reason.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/planner/ground.hpp"
#include "models/schedules/registry.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using namespace weft::literals;
using testing::HasSubstr;
using testing::Not;

ScheduleChoice choice(const std::string& name,
                      const std::vector<std::pair<std::string, std::int64_t>>& counts = {}) {
  const Schedule* schedule = find_schedule(name);
  EXPECT_NE(schedule, nullptr) << name;
  Knobs knobs(schedule->info().knobs);
  for (const auto& [knob, value] : counts) knobs.set(knob, value);
  return {schedule, knobs};
}

BoundarySearch found(const ScheduleChoice& best, bool overlaps = false) {
  BoundarySearch search;
  search.best.push_back({best, {}, overlaps});
  return search;
}

Figures figures(Duration overlapped) {
  Figures figures;
  figures.compute_only = figures.schedule_compute_only = 100_us;
  figures.communication_only = figures.schedule_communication_only = 60_us;
  figures.serial = 160_us;
  figures.overlapped = overlapped;
  return figures;
}

TEST(Reason, WhatDoesNotOverlapIsNamedSoWhoeverItsKernelsAre) {
  Figures slower = figures(176_us);
  slower.schedule_compute_only = 120_us;
  const ScheduleChoice rival = choice("chunked", {{"chunks", 8}});
  const BoundaryFigures other{"x", "chunked", rival.knobs, slower};
  const std::string serial = reason_for(found(choice("serial")), figures(160_us), other);
  EXPECT_THAT(serial, HasSubstr("do not overlap: chunked with 8 chunks"));
  EXPECT_THAT(serial, HasSubstr("takes 10.0 % more than 160 us"));
  EXPECT_THAT(serial, HasSubstr("its own kernels lose 20.0 %"));
  EXPECT_THAT(serial, HasSubstr("where at most 37.5 % could be hidden"));

  const std::string library = reason_for(found(choice("nccl.serial")), figures(150_us), other);
  EXPECT_THAT(library, HasSubstr("do not overlap: nccl.serial saves 10 us of 160 us"));
  EXPECT_THAT(library, HasSubstr("takes 17.3 % more than 150 us"));
}

TEST(Reason, WithoutARivalTheRuleInTheWayIsTold) {
  BoundarySearch search = found(choice("serial"));
  search.most_common_refusal = "rows do not divide";
  const std::string text = reason_for(search, figures(160_us), std::nullopt);
  EXPECT_THAT(text, HasSubstr("do not overlap: no schedule that overlaps is legal here (rows do"));
}

// A bound may prove every way to overlap slower than the ten best: legal, and lost.
TEST(Reason, WhatIsLegalAndSlowerIsNotCalledIllegal) {
  BoundarySearch search = found(choice("serial"));
  search.most_common_refusal = "rows do not divide";
  search.overlapping = 12;
  const std::string text = reason_for(search, figures(160_us), std::nullopt);
  EXPECT_THAT(text, HasSubstr("do not overlap: each of 12 ways to overlap takes longer"));
  EXPECT_THAT(text, Not(HasSubstr("legal")));
}

TEST(Reason, OverlapSaysWhatItSavesAndHides) {
  Figures pick = figures(120_us);
  pick.schedule_compute_only = 105_us;
  const std::string text =
      reason_for(found(choice("chunked", {{"chunks", 4}}), true), pick, std::nullopt);
  EXPECT_THAT(text, HasSubstr("overlap: chunked with 4 chunks"));
  EXPECT_THAT(text, HasSubstr("saves 40 us of 160 us (25.0 %)"));
  EXPECT_THAT(text, HasSubstr("its own kernels lose 5.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("do not")));
}

TEST(Reason, WhatFasterKernelsSaveIsNotCalledOverlap) {
  Figures pick = figures(90_us);
  pick.schedule_communication_only = 30_us;
  const ScheduleChoice chunked = choice("chunked", {{"chunks", 4}});
  EXPECT_THAT(reason_for(found(chunked, true), pick, std::nullopt),
              HasSubstr("30 us of that come from faster kernels and transport"));
  EXPECT_THAT(reason_for(found(chunked, true), pick, std::nullopt), Not(HasSubstr("check that")));
  pick.schedule_communication_only = 15_us;
  EXPECT_THAT(reason_for(found(chunked, true), pick, std::nullopt),
              HasSubstr("takes 60 us and this 15 us"));
}

// One chunk is the whole and nothing runs beside it, but for a rank's own rows and tiles that go as they are made.
TEST(Schedule, OfOneChunkOverlapsWhereItsPartsGoApart) {
  const Site site = test_site("h200x8.json", 2);
  struct Case {
    const char* schedule;
    BoundaryKind kind;
    std::int64_t chunks;
    const char* transport;
    const char* order;
    bool overlaps;
  };
  for (const Case& each : std::vector<Case>{
           {"chunked", BoundaryKind::ag_gemm, 1, "sm", "sliced", false},
           {"chunked", BoundaryKind::ag_gemm, 2, "sm", "sliced", true},
           {"chunked", BoundaryKind::ag_gemm, 1, "copy_engine", "rotated", true},
           {"chunked", BoundaryKind::gemm_rs, 1, "sm", "sliced", false},
           {"device_flag", BoundaryKind::ag_gemm, 1, "copy_engine", "sliced", false},
           {"device_flag", BoundaryKind::ag_gemm, 1, "sm", "sliced", false},
           {"device_flag", BoundaryKind::ag_gemm, 1, "sm", "rotated", true},
           {"device_flag", BoundaryKind::gemm_rs, 1, "copy_engine", "sliced", false},
           {"device_flag", BoundaryKind::gemm_rs, 1, "switch", "sliced", false},
           {"device_flag", BoundaryKind::gemm_rs, 1, "sm", "sliced", true},
           {"device_flag", BoundaryKind::gemm_a2a, 1, "sm", "sliced", true},
       }) {
    const Boundary boundary = make_boundary(each.kind, {4096, 4096, 4096}, {}, 2);
    ScheduleChoice one = choice(each.schedule, {{"chunks", each.chunks}, {"margin", 16}});
    one.knobs.set("transport", std::string(each.transport));
    one.knobs.set("order", std::string(each.order));
    SCOPED_TRACE(boundary.name + " " + each.schedule + " " + one.knobs.to_text());
    EXPECT_THAT(one.schedule->refusals(boundary, one.knobs, site), testing::IsEmpty());
    EXPECT_EQ(one.schedule->overlaps(boundary, one.knobs, site), each.overlaps);
    EXPECT_EQ(evaluate(boundary, one, site, {}).covered_ratio > 0, each.overlaps);
  }
}

}  // namespace
}  // namespace weft::model
