// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/journal.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace weft::kernels {
namespace {

calibration::Sample sample_of(int chunks) {
  calibration::Sample sample;
  sample.what.suite = "boundary";
  sample.what.operation = "ag_gemm";
  sample.what.figure = "D";
  sample.what.chunks = chunks;
  sample.times = {Duration::from_ps(1), Duration::from_ps(2)};
  return sample;
}

std::filesystem::path fresh(const char* name) {
  std::filesystem::path file = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove(file);
  return file;
}

TEST(Journal, KnowsWhatAnEarlierRunMeasured) {
  const std::filesystem::path file = fresh("journal.jsonl");
  calibration::Run run;
  run.device = "GPU";
  run.sms = 132;
  {
    Journal journal(file);
    journal.begin(run);
    journal.append(sample_of(1));
    journal.append(sample_of(2));
  }
  const Journal again(file);
  EXPECT_EQ(again.size(), 2u);
  EXPECT_TRUE(again.has(sample_of(2).what));
  const auto left = missing(again, {sample_of(1).what, sample_of(3).what});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].chunks, 3);
}

TEST(Journal, DropsALineThatWasCutShort) {
  const std::filesystem::path file = fresh("cut.jsonl");
  calibration::Run run;
  run.device = "GPU";
  run.sms = 132;
  {
    Journal journal(file);
    journal.begin(run);
    journal.append(sample_of(1));
  }
  std::ofstream(file, std::ios::app) << R"({"record":"sam)";
  Journal again(file);
  EXPECT_EQ(again.size(), 1u);
  again.append(sample_of(2));
  EXPECT_EQ(Journal(file).size(), 2u);
}

TEST(Budget, IsANumberWithAUnit) {
  EXPECT_DOUBLE_EQ(parse_budget("8min"), 480.0);
  EXPECT_DOUBLE_EQ(parse_budget("1.5s"), 1.5);
  EXPECT_DOUBLE_EQ(parse_budget("500ms"), 0.5);
  EXPECT_THROW(parse_budget("8"), std::invalid_argument);
  EXPECT_THROW(parse_budget("min"), std::invalid_argument);
  EXPECT_THROW(parse_budget("-1s"), std::invalid_argument);
}

}  // namespace
}  // namespace weft::kernels
