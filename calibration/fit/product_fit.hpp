// SPDX-License-Identifier: Apache-2.0
// Fits the GEMM constants of a profile (models/cost/gemm.hpp) to measured products, the library's and ours at
// once: the matrix rate, L2, HBM and clock are the device's, start and epilogue are the library's own.
//
// Each product is priced with the kernel that ran and the CTAs that it had, so the choice of kernel is no part
// of the fit. What is left of each kernel after that becomes its correction, drawn towards 1 where there are
// few rows.
#pragma once

#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/fit/least_squares.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// A residual that the fit names instead of hiding it.
struct Outlier {
  std::string label;
  double off = 0;  ///< modelled over measured, less 1
};

struct ProductFit {
  model::GemmConstants constants;
  std::vector<FitParameter> parameters;
  LeastSquaresResult result;
  std::size_t rows = 0;
  std::vector<std::string> throttled;  ///< rows that were left out because the device throttled
  std::vector<Outlier> outliers;
};

/// Throws UndeterminedFit if there are no products of either library.
[[nodiscard]] ProductFit fit_products(const model::Profile& start,
                                      const std::vector<Observation>& samples,
                                      const std::string& reference);

}  // namespace weft::calibration
