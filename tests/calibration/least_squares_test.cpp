// SPDX-License-Identifier: Apache-2.0
// The fit finds what made the data, says what the data cannot tell, and is not led astray by one bad row.
#include "calibration/fit/least_squares.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::calibration {
namespace {

/// log((a + x / b) / measured) at x = 1, 2, 4, ...
LeastSquaresProblem line(const std::vector<double>& measured) {
  LeastSquaresProblem problem;
  problem.parameters = {{"a", 1, 1e-3, 1e3}, {"b", 1, 1e-3, 1e3}, {"unused", 5, 1e-3, 1e3}};
  problem.residuals = [measured](std::span<const double> values) {
    std::vector<double> residuals;
    double x = 1;
    for (const double time : measured) {
      residuals.push_back(std::log((values[0] + x / values[1]) / time));
      x *= 2;
    }
    return residuals;
  };
  return problem;
}

std::vector<double> exact() {
  std::vector<double> times;
  for (double x = 1; x <= 1024; x *= 2) times.push_back(20 + x / 0.5);
  return times;
}

TEST(LeastSquares, FindsLatencyAndBandwidth) {
  const auto result = minimise(line(exact()));
  EXPECT_NEAR(result.values[0], 20, 0.01);
  EXPECT_NEAR(result.values[1], 0.5, 0.0005);
}

TEST(LeastSquares, SaysWhatTheRowsDoNotDetermine) {
  const auto result = minimise(line(exact()));
  EXPECT_TRUE(result.determined[0]);
  EXPECT_TRUE(result.determined[1]);
  EXPECT_FALSE(result.determined[2]);
  EXPECT_EQ(result.values[2], 5);
}

TEST(LeastSquares, OneBadRowMovesLittle) {
  auto times = exact();
  times[4] *= 3;
  const auto result = minimise(line(times));
  EXPECT_NEAR(result.values[0], 20, 1);
  EXPECT_NEAR(result.values[1], 0.5, 0.02);
}

TEST(LeastSquares, SameInputSameBits) {
  const auto first = minimise(line(exact())), second = minimise(line(exact()));
  EXPECT_EQ(first.values, second.values);
  EXPECT_EQ(first.loss, second.loss);
}

}  // namespace
}  // namespace weft::calibration
