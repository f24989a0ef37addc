// SPDX-License-Identifier: Apache-2.0
// The interval in which a measurement lies, from residuals of predictions that did not know it. Rows of one
// shape err together, so that n rows of few shapes say less than n rows: the percentiles of such residuals
// are too narrow for a shape that nobody measured. How much too narrow is what shapes left out in turn tell.
#pragma once

#include <vector>

namespace weft::calibration {

/// The share of rows that an interval is meant to cover.
inline constexpr double interval_level = 0.90;

/// Measured over predicted, and the fold of shapes that the row was left out of the fit with.
struct Residual {
  double ratio = 1;
  int fold = 0;
};

struct ResidualInterval {
  double low = 1, high = 1;  ///< measured over predicted
  [[nodiscard]] bool holds(double ratio) const { return ratio >= low && ratio <= high; }
};

/// Returns the 5th and the 95th percentile of the residuals, widened about their median by the least factor, at
/// least 1, with which intervals of the other folds hold `interval_level` of the residuals. One fold, which
/// leaves no others, is not widened; without residuals the interval is the prediction.
[[nodiscard]] ResidualInterval residual_interval(const std::vector<Residual>& residuals);

/// Returns the share of residuals that lie within the interval of the other folds.
[[nodiscard]] double cross_coverage(const std::vector<Residual>& residuals);

}  // namespace weft::calibration
