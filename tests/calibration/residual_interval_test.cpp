// SPDX-License-Identifier: Apache-2.0
// Intervals from residuals: percentiles where rows err on their own, wider where those of a shape err alike.
#include "calibration/accuracy/residual_interval.hpp"

#include <gtest/gtest.h>

namespace weft::calibration {
namespace {

TEST(ResidualInterval, WithoutResidualsIsThePrediction) {
  const ResidualInterval none = residual_interval({});
  EXPECT_EQ(none.low, 1);
  EXPECT_EQ(none.high, 1);
  EXPECT_EQ(cross_coverage({}), 0);
}

TEST(ResidualInterval, OfOneFoldIsItsPercentiles) {
  std::vector<Residual> residuals;
  for (int i = 1; i <= 100; ++i) residuals.push_back({1 + 0.01 * i, 7});
  const ResidualInterval interval = residual_interval(residuals);
  EXPECT_DOUBLE_EQ(interval.low, 1.05);
  EXPECT_DOUBLE_EQ(interval.high, 1.95);
}

TEST(ResidualInterval, RowsThatErrOnTheirOwnAreHardlyWidened) {
  std::vector<Residual> residuals;
  for (int i = 0; i < 1000; ++i) residuals.push_back({1 + 0.001 * i, i % 10});
  const ResidualInterval interval = residual_interval(residuals);
  EXPECT_NEAR(interval.low, 1.05, 0.005);
  EXPECT_NEAR(interval.high, 1.95, 0.005);
  EXPECT_NEAR(cross_coverage(residuals), interval_level, 0.01);
}

// Ten folds of twenty rows that are off by 0 to 9 %. Without the first or the last, the others reach four
// steps from their median, and it lies five away: a quarter more.
TEST(ResidualInterval, ShapesThatErrAlikeWidenIt) {
  std::vector<Residual> residuals;
  for (int fold = 0; fold < 10; ++fold) {
    for (int row = 0; row < 20; ++row) residuals.push_back({1 + 0.01 * fold, fold});
  }
  const ResidualInterval interval = residual_interval(residuals);
  EXPECT_NEAR(interval.low, 1.04 - 1.25 * 0.04, 1e-12);
  EXPECT_NEAR(interval.high, 1.04 + 1.25 * 0.05, 1e-12);
}

// Whatever the residuals, they hold what their percentiles hold.
TEST(ResidualInterval, IsNeverNarrowerThanThePercentiles) {
  std::vector<Residual> residuals;
  for (int i = 0; i < 60; ++i) residuals.push_back({1 + 0.07 * ((i * 37) % 60), (i * i) % 7});
  const ResidualInterval interval = residual_interval(residuals);
  EXPECT_LE(interval.low, 1 + 0.07 * 2);
  EXPECT_GE(interval.high, 1 + 0.07 * 56);
}

TEST(ResidualInterval, FoldsThatAreAllRightAreNotWidenedWithoutEnd) {
  std::vector<Residual> residuals;
  for (int i = 0; i < 20; ++i) residuals.push_back({1, i % 2});
  for (int i = 0; i < 5; ++i) residuals.push_back({1.2, 2});
  const ResidualInterval interval = residual_interval(residuals);
  EXPECT_EQ(interval.low, 1);
  EXPECT_DOUBLE_EQ(interval.high, 1.2);
}

}  // namespace
}  // namespace weft::calibration
