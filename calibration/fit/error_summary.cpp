// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/error_summary.hpp"

#include <algorithm>
#include <cmath>

namespace weft::calibration {

model::FamilyError summarise(std::string family, const std::vector<Prediction>& predictions,
                             model::Source source) {
  model::FamilyError error;
  error.family = std::move(family);
  error.source = std::move(source);
  error.rows = static_cast<std::int64_t>(predictions.size());
  if (predictions.empty()) return error;
  std::vector<double> sizes;
  double sum = 0;
  for (const Prediction& row : predictions) {
    const double off = ratio(row.predicted, row.measured) - 1;
    sum += off;
    sizes.push_back(std::abs(off));
  }
  std::sort(sizes.begin(), sizes.end());
  const std::size_t n = sizes.size();
  error.median = sizes[n / 2];
  error.p95 = sizes[(n * 95 + 99) / 100 - 1];
  error.worst = sizes.back();
  error.bias = sum / static_cast<double>(n);
  return error;
}

}  // namespace weft::calibration
