// SPDX-License-Identifier: Apache-2.0
// Percentiles by nearest rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace weft::calibration {

/// Returns the q-quantile of sorted values, at least one: the ceil(q n)-th smallest.
inline double quantile(const std::vector<double>& sorted, double q) {
  const double n = static_cast<double>(sorted.size());
  // Rank 95 of 100 must not become 96 because 0.95 * 100 is a little over 95.
  const double rank = std::ceil(q * n - 1e-9);
  return sorted[static_cast<std::size_t>(std::clamp(rank, 1.0, n)) - 1];
}

}  // namespace weft::calibration
