// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/report.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::kernels {
namespace {

using calibration::Case;
using calibration::Sample;
using testing::HasSubstr;

TEST(IdealPipeline, WithoutTransfersIsTheCompute) {
  for (const bool gathers : {false, true})
    EXPECT_DOUBLE_EQ(ideal_pipeline(100, 0, 4, 0.5, gathers), 100);
}

TEST(IdealPipeline, WithoutComputeIsTheTransfers) {
  for (const bool gathers : {false, true})
    EXPECT_DOUBLE_EQ(ideal_pipeline(0, 80, 4, 0.5, gathers), 80);
}

TEST(IdealPipeline, BoundByTransfersShowsOnePieceOfCompute) {
  // Gathered: all transfers, then the last piece. Scattered: the first piece, then all transfers.
  EXPECT_DOUBLE_EQ(ideal_pipeline(40, 400, 4, 0.5, true), 400 + 5);
  EXPECT_DOUBLE_EQ(ideal_pipeline(40, 400, 4, 0.5, false), 5 + 400);
}

TEST(IdealPipeline, BoundByComputeHidesEveryTransferBehindTheOwnRows) {
  EXPECT_DOUBLE_EQ(ideal_pipeline(400, 40, 4, 0.5, true), 400);
  EXPECT_DOUBLE_EQ(ideal_pipeline(400, 40, 4, 0.5, false), 400);
}

Sample sample(const char* figure, const char* schedule, int microseconds) {
  Sample made;
  made.what.suite = "decision";
  made.what.operation = "ag_gemm";
  made.what.library = "weft";
  made.what.backend = "host_link";
  made.what.shape = calibration::Shape{2048, 1024, 1024};
  made.what.ranks = 2;
  made.what.figure = figure;
  made.what.schedule = schedule;
  if (made.what.figure != "A") made.what.transport = "copy_engine";
  if (made.what.schedule == std::string("chunked") || made.what.schedule == "device_flag") {
    made.what.chunks = 2;
    made.what.margin = 0;
  }
  made.times.assign(20, Duration::from_ps(std::int64_t{microseconds} * 1'000'000));
  return made;
}

TEST(Report, CountsLossesAndComparesSchedules) {
  calibration::SampleSet set;
  set.samples = {sample("A", "", 100),
                 sample("B", "", 100),
                 sample("C", "serial", 200),
                 sample("D", "chunked", 220),
                 sample("A_s", "chunked", 110),
                 sample("B_s", "chunked", 100),
                 sample("D", "device_flag", 110),
                 sample("A_s", "device_flag", 100),
                 sample("B_s", "device_flag", 100)};
  std::ostringstream out;
  report(set, out);
  // D/C of 1.10 is a loss, of 0.55 is none; A_s/A, B_s/B and D over the larger follow.
  EXPECT_THAT(out.str(),
              HasSubstr("| chunked | copy engine | 0 | 1 | 1 | 1.10 | 1.10 | 1.10 | 1.10 "
                        "| 1.00 | 2.00 |"));
  EXPECT_THAT(out.str(), HasSubstr("| one launch | copy engine | 0 | 1 | 0 | 0.55 |"));
  EXPECT_THAT(out.str(), HasSubstr("| ag_gemm | host_link | copy engine | 0 | 2: 2.00 |"));
}

}  // namespace
}  // namespace weft::kernels
