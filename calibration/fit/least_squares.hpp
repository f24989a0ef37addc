// SPDX-License-Identifier: Apache-2.0
// Robust non-linear least squares for positive parameters.
//
// Minimises the sum of w_i rho(r_i) with Huber's rho: r^2 up to the knee, linear beyond it, so that an outlier
// pulls with a bounded force. Levenberg-Marquardt in the logarithms of the parameters, derivatives by
// differences. Residuals are meant to be log(model / measured), so errors count by proportion.
// Deterministic: same input, same result.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace weft::calibration {

/// One positive parameter and where the search starts and must stay.
struct FitParameter {
  std::string name;
  double start = 1;
  double least = 1e-12;
  double most = 1e12;
};

struct LeastSquaresProblem {
  std::vector<FitParameter> parameters;
  /// The residuals of a parameter vector, always equally many.
  std::function<std::vector<double>(std::span<const double>)> residuals;
  std::vector<double> weights;  ///< one a residual; empty: all 1
  double knee = 0.1;            ///< of Huber's loss
  int max_iterations = 200;
};

struct LeastSquaresResult {
  std::vector<double> values;
  std::vector<double>
      relative_errors;            ///< one standard error of each, as a fraction; 0: not determined
  std::vector<bool> determined;   ///< whether any residual depends on the parameter
  std::vector<bool> at_bound;     ///< whether the search ended at a limit of the parameter
  std::vector<double> residuals;  ///< at the result
  double loss = 0;
  int iterations = 0;
};

[[nodiscard]] LeastSquaresResult minimise(const LeastSquaresProblem& problem);

}  // namespace weft::calibration
