// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "sim/units/check.hpp"

namespace weft::calibration {

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

/// Relative step of the difference quotients: small against curvature, large against picosecond rounding.
constexpr double kDifference = 1e-3;

double huber(double residual, double knee) {
  const double size = std::abs(residual);
  return size <= knee ? residual * residual : knee * (2 * size - knee);
}

double huber_weight(double residual, double knee) {
  const double size = std::abs(residual);
  return size <= knee ? 1.0 : knee / size;
}

class Search {
 public:
  explicit Search(const LeastSquaresProblem& problem) : problem_(problem) {
    for (const FitParameter& parameter : problem.parameters) values_.push_back(parameter.start);
    residuals_ = evaluate(values_);
    weights_ = problem.weights;
    if (weights_.empty()) weights_.assign(residuals_.size(), 1.0);
    WEFT_CHECK(weights_.size() == residuals_.size(), "{} weights for {} residuals", weights_.size(),
               residuals_.size());
    loss_ = loss_of(residuals_);
  }

  LeastSquaresResult run() {
    double damping = 1e-2;
    LeastSquaresResult result;
    for (; result.iterations < problem_.max_iterations; ++result.iterations) {
      linearise();
      const double before = loss_;
      if (!descend(damping) || before - loss_ < 1e-9 * before) break;
    }
    linearise();
    result.values = values_;
    result.residuals = residuals_;
    result.loss = loss_;
    judge(result);
    return result;
  }

 private:
  std::vector<double> evaluate(std::span<const double> values) const {
    return problem_.residuals(values);
  }

  double loss_of(std::span<const double> residuals) const {
    double sum = 0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      sum += weights_[i] * huber(residuals[i], problem_.knee);
    }
    return sum;
  }

  /// Fills the normal equations of the robust problem around the present values.
  void linearise() {
    const auto rows = static_cast<Eigen::Index>(residuals_.size());
    const auto columns = static_cast<Eigen::Index>(values_.size());
    Matrix jacobian(rows, columns);
    for (Eigen::Index c = 0; c < columns; ++c) {
      std::vector<double> moved = values_;
      moved[static_cast<std::size_t>(c)] *= 1 + kDifference;
      const std::vector<double> there = evaluate(moved);
      for (Eigen::Index r = 0; r < rows; ++r) {
        const auto i = static_cast<std::size_t>(r);
        jacobian(r, c) = (there[i] - residuals_[i]) / kDifference;
      }
    }
    Vector weight(rows), residual(rows);
    for (Eigen::Index r = 0; r < rows; ++r) {
      const auto i = static_cast<std::size_t>(r);
      residual(r) = residuals_[i];
      weight(r) = weights_[i] * huber_weight(residuals_[i], problem_.knee);
    }
    normal_ = jacobian.transpose() * weight.asDiagonal() * jacobian;
    gradient_ = jacobian.transpose() * weight.asDiagonal() * residual;
  }

  /// One step that lowers the loss, or false if damping cannot find one.
  bool descend(double& damping) {
    for (int attempt = 0; attempt < 16; ++attempt, damping *= 3) {
      Matrix damped = normal_;
      damped.diagonal().array() += damping * (normal_.diagonal().array() + 1e-4);
      const Vector step = damped.ldlt().solve(-gradient_);
      std::vector<double> moved = values_;
      for (std::size_t i = 0; i < moved.size(); ++i) {
        const double change = std::clamp(step(static_cast<Eigen::Index>(i)), -0.5, 0.5);
        moved[i] = std::clamp(moved[i] * std::exp(change), problem_.parameters[i].least,
                              problem_.parameters[i].most);
      }
      std::vector<double> there = evaluate(moved);
      const double loss = loss_of(there);
      if (loss >= loss_) continue;
      values_ = std::move(moved);
      residuals_ = std::move(there);
      loss_ = loss;
      damping = std::max(damping / 3, 1e-9);
      return true;
    }
    return false;
  }

  /// Which parameters the residuals speak of, and how firmly.
  void judge(LeastSquaresResult& result) const {
    const auto n = static_cast<Eigen::Index>(values_.size());
    const double largest = n == 0 ? 0 : normal_.diagonal().maxCoeff();
    result.relative_errors.assign(values_.size(), 0.0);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const FitParameter& parameter = problem_.parameters[k];
      result.determined.push_back(normal_(i, i) > 1e-9 * largest);
      result.at_bound.push_back(values_[k] <= parameter.least * (1 + 1e-6) ||
                                values_[k] >= parameter.most * (1 - 1e-6));
    }
    const double freedom =
        std::max(1.0, static_cast<double>(residuals_.size()) - static_cast<double>(n));
    Matrix ridged = normal_;
    ridged.diagonal().array() += 1e-9 * largest;
    const Matrix covariance = ridged.inverse() * (loss_ / freedom);
    for (Eigen::Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (result.determined[k]) {
        result.relative_errors[k] = std::sqrt(std::max(0.0, covariance(i, i)));
      }
    }
  }

  const LeastSquaresProblem& problem_;
  std::vector<double> values_, residuals_, weights_;
  double loss_ = 0;
  Matrix normal_;
  Vector gradient_;
};

}  // namespace

LeastSquaresResult minimise(const LeastSquaresProblem& problem) {
  return Search(problem).run();
}

}  // namespace weft::calibration
