// SPDX-License-Identifier: Apache-2.0
// What a pick's sentence claims is what its figures say.
#include "models/planner/reason.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedules/registry.hpp"

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

BoundarySearch found(const ScheduleChoice& best) {
  BoundarySearch search;
  search.best.push_back({best, {}});
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
      reason_for(found(choice("chunked", {{"chunks", 4}})), pick, std::nullopt);
  EXPECT_THAT(text, HasSubstr("overlap: chunked with 4 chunks"));
  EXPECT_THAT(text, HasSubstr("saves 40 us of 160 us (25.0 %)"));
  EXPECT_THAT(text, HasSubstr("its own kernels lose 5.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("do not")));
}

TEST(Reason, WhatFasterKernelsSaveIsNotCalledOverlap) {
  Figures pick = figures(90_us);
  pick.schedule_communication_only = 30_us;
  const ScheduleChoice chunked = choice("chunked", {{"chunks", 4}});
  EXPECT_THAT(reason_for(found(chunked), pick, std::nullopt),
              HasSubstr("30 us of that come from faster kernels and transport"));
  EXPECT_THAT(reason_for(found(chunked), pick, std::nullopt), Not(HasSubstr("check that")));
  pick.schedule_communication_only = 15_us;
  EXPECT_THAT(reason_for(found(chunked), pick, std::nullopt),
              HasSubstr("takes 60 us and this 15 us"));
}

// One chunk is the whole: nothing runs beside it.
TEST(Reason, OneChunkDoesNotOverlap) {
  for (const auto& [name, overlaps] :
       std::vector<std::pair<std::string, bool>>{{"serial", false},
                                                 {"nccl.serial", false},
                                                 {"torch.symm_mem_all_reduce", false},
                                                 {"nccl.stream_overlap", true},
                                                 {"device_flag", true}}) {
    const ScheduleChoice each = choice(name);
    EXPECT_EQ(each.schedule->overlaps(each.knobs), overlaps) << name;
  }
  for (const std::int64_t chunks : {1, 2}) {
    const ScheduleChoice each = choice("chunked", {{"chunks", chunks}});
    EXPECT_EQ(each.schedule->overlaps(each.knobs), chunks > 1);
  }
}

}  // namespace
}  // namespace weft::model
