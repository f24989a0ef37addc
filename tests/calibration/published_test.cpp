// SPDX-License-Identifier: Apache-2.0
// The committed comparison with published figures: it is what the program writes, and it is as good as is promised.
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "calibration/published/report.hpp"

namespace weft::calibration {
namespace {

const PublishedReport& report() {
  static const PublishedReport made = compare_published("configs/machines", {});
  return made;
}

// Regenerate with `weft published --markdown calibration/results/published.md`.
TEST(Published, CommittedComparisonIsWhatThePredictionsAre) {
  std::ifstream in("calibration/results/published.md");
  const std::string committed{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(committed, to_markdown(report()));
}

TEST(Published, WinOrLossAndMedianAreAsPromised) {
  EXPECT_GE(report().right, 0.9 * report().signs);
  EXPECT_LT(report().median_stated, 0.15);
}

// 480 GB/s at 8 GPUs fixes the port; 5 to 7 follow within 5 %, and rings stay flat.
TEST(Published, NvlsByGpuCountFollowsFromOnePort) {
  ASSERT_EQ(report().nvls.size(), 5U);
  for (const NvlsPoint& point : report().nvls) {
    EXPECT_NEAR(point.predicted / point.published, 1, 0.05) << point.ranks;
    EXPECT_NEAR(point.ring, 367.5, 0.05 * 367.5) << point.ranks;
  }
}

TEST(Published, RowsThatAreNotPredictedStandOnceAndSayWhy) {
  std::set<std::string> names;
  for (const PublishedUncovered& row : published_uncovered()) {
    EXPECT_TRUE(names.insert(std::string(row.what)).second) << row.what;
    EXPECT_FALSE(row.why.empty()) << row.what;
  }
}

}  // namespace
}  // namespace weft::calibration
