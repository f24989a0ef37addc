// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"

namespace weft::calibration {

namespace {

using model::GemmConstants;
using model::GemmLibrary;

using KernelKey =
    std::tuple<GemmLibrary, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

KernelKey key_of(const ProductSample& row) {
  return {row.problem.library,  row.kernel.tile_m,    row.kernel.tile_n,
          row.kernel.cluster_m, row.kernel.cluster_n, row.split_k};
}

/// A kernel with fewer rows than this has nothing of its own.
constexpr std::size_t kFewRows = 3;
double four_digits(double value) {
  return std::round(value * 1e4) / 1e4;
}

/// The order of a kernel's own parameters, and how far each may well be from what its extents say: a tenth and a
/// third of its multiplications and loads, a microsecond a tile, two a launch.
enum Own : std::size_t { kStepFactor, kTrafficFactor, kTurn, kKernelStart, kOwnCount };
constexpr double kLikely[kOwnCount] = {0.1, 0.3, 1.0, 2.0};
/// A parameter that is as far off as is likely weighs as a row that is off by this.
constexpr double kPrior = 0.03;
/// With fewer rows only the step is a kernel's own.
constexpr std::size_t kEnoughRows = 4;

model::KernelCorrection correction_of(const KernelKey& key, const GemmConstants& g) {
  const auto [library, m, n, cm, cn, split] = key;
  const bool own = library == GemmLibrary::ours && g.own.has_value();
  return {library,
          m,
          n,
          cm,
          cn,
          split,
          0,
          1,
          1,
          g.prologue.value,
          own ? g.own->start.value : g.start.value,
          {}};
}

/// One kernel's own parameters by least squares over its rows, drawn towards what its extents say.
model::KernelCorrection fit_kernel(const model::Profile& general, const KernelKey& key,
                                   const std::vector<ProductSample>& rows,
                                   const std::string& reference, bool loads_bind) {
  const model::KernelCorrection first = correction_of(key, *general.gemm);
  const double turn = microseconds(first.turn), start = microseconds(first.start);
  model::Profile trial = general;
  const auto set = [&](std::span<const double> v) {
    model::KernelCorrection one = first;
    one.step = four_digits(v[kStepFactor]);
    if (rows.size() >= kEnoughRows) {
      if (loads_bind) one.traffic = four_digits(v[kTrafficFactor]);
      one.turn = from_microseconds(v[kTurn]);
      one.start = from_microseconds(v[kKernelStart]);
    }
    trial.gemm->corrections = {one};
  };
  LeastSquaresProblem problem;
  problem.parameters = {{"step", 1, 0.5, 2},
                        {"traffic", 1, 0.4, 2.5},
                        {"turn", std::max(turn, 0.05), 0.01, turn + 4},
                        {"start", start, 0.5, start + 8}};
  problem.knee = 0.02;
  problem.max_iterations = 15;
  problem.residuals = [&](std::span<const double> v) {
    set(v);
    std::vector<double> residuals = product_residuals(trial, rows);
    const double off[kOwnCount] = {std::log(v[kStepFactor]), std::log(v[kTrafficFactor]),
                                   v[kTurn] - turn, v[kKernelStart] - start};
    for (std::size_t i = 0; i < kOwnCount; ++i) {
      residuals.push_back(off[i] / kLikely[i] * kPrior);
    }
    return residuals;
  };
  set(minimise(problem).values);
  model::KernelCorrection fitted = trial.gemm->corrections.front();
  fitted.products = static_cast<std::int64_t>(rows.size());
  fitted.source = {model::SourceKind::fitted, reference};
  return fitted;
}

}  // namespace

std::vector<model::KernelCorrection> fit_kernels(const model::Profile& general,
                                                 const std::vector<ProductSample>& products,
                                                 const std::string& reference, bool loads_bind) {
  std::map<KernelKey, std::vector<ProductSample>> by_kernel;
  for (const ProductSample& row : products) by_kernel[key_of(row)].push_back(row);
  std::vector<model::KernelCorrection> list;
  for (const auto& [key, rows] : by_kernel) {
    if (rows.size() >= kFewRows)
      list.push_back(fit_kernel(general, key, rows, reference, loads_bind));
  }
  return list;
}

}  // namespace weft::calibration
