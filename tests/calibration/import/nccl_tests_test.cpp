// SPDX-License-Identifier: Apache-2.0
// Logs of nccl-tests in every layout, whole and broken. The fixtures are the fuzz target's corpus.
#include "calibration/import/nccl_tests.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::calibration {
namespace {

using fixture::lines_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

NcclTestsLog log_of(const std::string& name) {
  const std::string file = "tests/fuzz/corpus/nccl_tests/" + name;
  return read_nccl_tests(config::read_text(file, Bytes::from(1 << 20)), name);
}

TEST(NcclTests, TheUsualLog) {
  const NcclTestsLog log = log_of("all_reduce_8.txt");
  EXPECT_THAT(lines_of(log.notes), IsEmpty());
  ASSERT_EQ(log.runs.size(), 1U);
  EXPECT_EQ(log.runs[0].operation, "all_reduce");
  EXPECT_EQ(log.runs[0].ranks, 8);
  EXPECT_EQ(log.runs[0].ranks_from, "its rank lines");
  EXPECT_EQ(log.runs[0].hosts, 1);
  EXPECT_EQ(log.runs[0].rows, 9U);
  EXPECT_EQ(log.samples.samples.size(), 18U);
  const Sample& first = log.samples.samples[0];
  EXPECT_EQ(first.what.operation, "all_reduce");
  EXPECT_EQ(first.what.library, "nccl");
  EXPECT_EQ(first.what.dtype, "fp32");
  EXPECT_EQ(first.what.bytes, 8192);
  EXPECT_EQ(first.what.ranks, 8);
  EXPECT_EQ(first.what.variant, "out_of_place");
  EXPECT_EQ(first.times.front(), Duration::from_ps(22'030'000));
  EXPECT_EQ(log.samples.runs[0].device, "NVIDIA H100 80GB HBM3");
}

TEST(NcclTests, TheOldLayoutHasNoRoot) {
  const NcclTestsLog log = log_of("old_layout_v100.txt");
  EXPECT_THAT(lines_of(log.notes), IsEmpty());
  EXPECT_EQ(log.runs[0].operation, "all_gather");
  EXPECT_EQ(log.runs[0].samples, 18U);
}

TEST(NcclTests, PrefixesTagsAndTwoHosts) {
  const NcclTestsLog log = log_of("mpirun_two_hosts.txt");
  EXPECT_THAT(lines_of(log.notes), IsEmpty());
  EXPECT_EQ(log.runs[0].ranks, 16);
  EXPECT_EQ(log.runs[0].hosts, 2);
  EXPECT_EQ(log.runs[0].rows, 9U);
  EXPECT_EQ(log.samples.samples[0].what.variant, "out_of_place, 2 hosts");
  EXPECT_EQ(log.samples.runs[0].nccl, "2.21.5+cuda12.4");
}

TEST(NcclTests, SeveralRunsInAFileAndOneThatFailed) {
  const NcclTestsLog log = log_of("three_runs.txt");
  ASSERT_EQ(log.runs.size(), 3U);
  EXPECT_EQ(log.runs[0].operation, "all_reduce");
  EXPECT_EQ(log.runs[1].operation, "reduce_scatter");
  EXPECT_EQ(log.runs[2].operation, "all_to_all");
  EXPECT_EQ(log.runs[2].rows, 0U);
  EXPECT_THAT(lines_of(log.notes),
              Contains(HasSubstr("the run failed: \"node-1: Test NCCL failure")));
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("this run has no rows")));
  EXPECT_EQ(log.samples.runs.size(), 2U);
  EXPECT_EQ(log.samples.samples.back().run, 1);
}

TEST(NcclTests, ElidedRanksFollowFromTheBandwidths) {
  const NcclTestsLog log = log_of("elided_ranks.md");
  EXPECT_EQ(log.runs[0].ranks, 8);
  EXPECT_EQ(log.runs[0].ranks_from, "busbw / algbw");
  EXPECT_EQ(log.runs[0].samples, 18U);
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("ranks are 8: busbw / algbw is 0.875")));
}

TEST(NcclTests, OnlyAllReduceHasMoreBusbwThanAlgbw) {
  // No line names the program, three of sixteen rank lines are there, and one in-place row is not
  // what its other figures say.
  const NcclTestsLog log = log_of("elided_two_hosts.txt");
  const std::vector<std::string> notes = lines_of(log.notes);
  EXPECT_EQ(log.runs[0].operation, "all_reduce");
  EXPECT_EQ(log.runs[0].ranks, 16);
  EXPECT_EQ(log.runs[0].samples, 9U);
  EXPECT_THAT(notes, Contains(HasSubstr("all_reduce, the only one above 1")));
  EXPECT_THAT(notes, Contains(HasSubstr("3 of 16 rank lines are there")));
  EXPECT_THAT(notes, Contains(HasSubstr("busbw 111.77 is not 1.875 times algbw")));
  EXPECT_THAT(notes, Contains(HasSubstr("outlier: 8388608 bytes take 99999 us")));
}

TEST(NcclTests, ACutLogIsSaidToBeCut) {
  const NcclTestsLog log = log_of("cut.txt");
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("the row is cut")));
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("the log ends before the average")));
  EXPECT_GE(log.samples.samples.size(), 16U);
}

TEST(NcclTests, OutliersCollapseAndMissingRowsAreNamed) {
  const std::vector<std::string> notes = lines_of(log_of("outlier_collapse.txt").notes);
  EXPECT_THAT(notes, Contains(HasSubstr("outlier: 160000 bytes take")));
  EXPECT_THAT(notes, Contains(HasSubstr("collapse: busbw falls from")));
  EXPECT_THAT(notes, Contains(HasSubstr("rows are missing")));
}

TEST(NcclTests, WrongResultsAndInconsistentRowsAreLeftOut) {
  const NcclTestsLog log = log_of("bad_rows.txt");
  const std::vector<std::string> notes = lines_of(log.notes);
  EXPECT_THAT(notes, Contains(HasSubstr("in_place: the result was wrong: left out")));
  EXPECT_THAT(notes, Contains(HasSubstr("busbw 9.99 is not 1.000 times algbw")));
  EXPECT_THAT(notes, Contains(HasSubstr("two ranks share device")));
  EXPECT_EQ(log.runs[0].samples, 6U);
}

TEST(NcclTests, MoreColumnsAndNoInPlaceHalf) {
  const NcclTestsLog log = log_of("v217_intervals.txt");
  EXPECT_THAT(lines_of(log.notes), IsEmpty());
  EXPECT_EQ(log.runs[0].samples, 4U);
  EXPECT_EQ(log.samples.runs[0].program, "nccl-tests 2.17.6");
}

TEST(NcclTests, NothingIsGuessedWithoutALine) {
  const NcclTestsLog log = log_of("no_header.txt");
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("no line names the columns")));
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("busbw / algbw, 1.750: all_reduce")));
  EXPECT_THAT(lines_of(log.notes), Contains(HasSubstr("ranks are 8")));
  const NcclTestsLog nameless = log_of("nameless.txt");
  EXPECT_THAT(lines_of(nameless.notes), Contains(HasSubstr("its rows are left out")));
  EXPECT_THAT(nameless.samples.samples, IsEmpty());
  EXPECT_THAT(lines_of(log_of("broadcast.txt").notes),
              Contains(HasSubstr("broadcast is not modelled: its rows are left out")));
}

TEST(NcclTests, OtherLogsAreRefusedByName) {
  for (const auto& [name, what] :
       {std::pair("wrong_osu.txt", "OSU micro-benchmarks"),
        std::pair("wrong_rccl.txt", "rccl-tests"), std::pair("wrong_perftest.txt", "perftest"),
        std::pair("wrong_prose.txt", "no table of nccl-tests")}) {
    try {
      log_of(name);
      ADD_FAILURE() << name;
    } catch (const config::ConfigErrors& errors) {
      EXPECT_THAT(errors.what(), HasSubstr(what));
    }
  }
}

}  // namespace
}  // namespace weft::calibration
