// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/residual_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "calibration/accuracy/quantile.hpp"

namespace weft::calibration {

namespace {

struct Percentiles {
  double low = 1, middle = 1, high = 1;

  /// How much wider the percentiles would have to lie about the middle to hold a ratio.
  [[nodiscard]] double widening_for(double ratio) const {
    const double away = std::abs(ratio - middle),
                 arm = ratio < middle ? middle - low : high - middle;
    if (away <= arm) return 1;
    return arm > 0 ? away / arm : std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] ResidualInterval widened(double factor) const {
    return {middle - factor * (middle - low), middle + factor * (high - middle)};
  }
};

Percentiles percentiles_of(const std::vector<Residual>& residuals) {
  if (residuals.empty()) return {};
  std::vector<double> ratios;
  for (const Residual& residual : residuals) ratios.push_back(residual.ratio);
  std::sort(ratios.begin(), ratios.end());
  return {quantile(ratios, (1 - interval_level) / 2), quantile(ratios, 0.5),
          quantile(ratios, (1 + interval_level) / 2)};
}

std::set<int> folds_of(const std::vector<Residual>& residuals) {
  std::set<int> folds;
  for (const Residual& residual : residuals) folds.insert(residual.fold);
  return folds;
}

std::vector<Residual> without(const std::vector<Residual>& residuals, int fold) {
  std::vector<Residual> others;
  for (const Residual& residual : residuals) {
    if (residual.fold != fold) others.push_back(residual);
  }
  return others;
}

/// The factors with which each row would lie within the interval of the other folds, sorted.
std::vector<double> widenings(const std::vector<Residual>& residuals) {
  const std::set<int> folds = folds_of(residuals);
  std::vector<double> factors;
  if (folds.size() < 2) return factors;
  for (const int fold : folds) {
    const Percentiles others = percentiles_of(without(residuals, fold));
    for (const Residual& residual : residuals) {
      if (residual.fold == fold) factors.push_back(others.widening_for(residual.ratio));
    }
  }
  std::sort(factors.begin(), factors.end());
  return factors;
}

}  // namespace

ResidualInterval residual_interval(const std::vector<Residual>& residuals) {
  const std::vector<double> factors = widenings(residuals);
  double factor = factors.empty() ? 1 : quantile(factors, interval_level);
  // Others that are all alike have no width to be widened: a part of nothing says how far a row is off.
  if (std::isinf(factor)) factor = 1;
  return percentiles_of(residuals).widened(factor);
}

double cross_coverage(const std::vector<Residual>& residuals) {
  if (residuals.empty()) return 0;
  std::size_t inside = 0;
  for (const int fold : folds_of(residuals)) {
    const ResidualInterval others = residual_interval(without(residuals, fold));
    inside += static_cast<std::size_t>(
        std::count_if(residuals.begin(), residuals.end(), [&](const Residual& residual) {
          return residual.fold == fold && others.holds(residual.ratio);
        }));
  }
  return static_cast<double>(inside) / static_cast<double>(residuals.size());
}

}  // namespace weft::calibration
