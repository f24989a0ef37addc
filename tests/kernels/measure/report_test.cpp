// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/report.hpp"

#include <array>
#include <sstream>
#include <string>
#include <tuple>

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
  // The better schedule of the two, whose ideal is 125 us.
  EXPECT_THAT(out.str(), HasSubstr("| copy engine | 1 | -12.0 % |"));
}

TEST(Report, ListsWhereManyLaunchesBeatOneFromSixteenChunksOn) {
  calibration::SampleSet set;
  set.samples = {sample("A", "", 100), sample("C", "serial", 200)};
  for (const auto& [chunks, one, many] : {std::array{16, 100, 160}, std::array{32, 100, 90}})
    for (const char* schedule : {"chunked", "device_flag"}) {
      set.samples.push_back(sample("D", schedule, schedule == std::string("chunked") ? many : one));
      set.samples.back().what.chunks = chunks;
      // A limit that one launch alone keeps to makes no other pair of it.
      if (schedule == std::string("device_flag"))
        set.samples.back().what.in_flight_bytes = 24 << 10;
    }
  std::ostringstream out;
  report(set, out);
  // The geometric mean of 1.6 and 0.9.
  EXPECT_THAT(out.str(), HasSubstr("From 16 chunks on: 1.20 over 2 cells; exceptions: \n- "
                                   "| ag_gemm | host_link | copy engine | 0 | 32: 0.90 |"));
}

TEST(Report, BestOfEachIsOverTheLibrarysSerialForm) {
  calibration::SampleSet set;
  for (const auto& [figure, schedule, us] :
       {std::tuple{"A", "", 90}, std::tuple{"B", "", 100}, std::tuple{"C", "serial", 180},
        std::tuple{"D", "chunked", 120}}) {
    set.samples.push_back(sample(figure, schedule, us));
    set.samples.back().what.library = "cublaslt";
    if (*figure != 'A' && *figure != 'D') set.samples.back().what.transport = "library";
  }
  for (const Sample& each :
       {sample("A", "", 100), sample("C", "serial", 200), sample("D", "device_flag", 125),
        sample("A_s", "device_flag", 100), sample("B_s", "device_flag", 100)})
    set.samples.push_back(each);
  std::ostringstream out;
  report(set, out);
  // Two pieces of 50 us, the own half of the compute first: the ideal is 125 of 200 us.
  EXPECT_THAT(out.str(),
              HasSubstr("| ag_gemm | host_link | 2 | 2048 | 1024 | 1024 | 90 | 100 | 180 | one "
                        "launch, copy engine, 2 | 125 | chunked, copy engine, 2 | 120 | 1.50 | "
                        "100 % |"));
}

}  // namespace
}  // namespace weft::kernels
