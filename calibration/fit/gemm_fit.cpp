// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/gemm_fit.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "calibration/fit/error_summary.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/fit/split.hpp"
#include "models/profile/families.hpp"

namespace weft::calibration {

namespace {

using model::GemmConstants;
using model::Source;
using model::SourceKind;

/// The order of the parameters in a vector of values.
enum Index : std::size_t {
  kStart,
  kPrologue,
  kStep,
  kMatrix,
  kEpilogue,
  kHbm,
  kL2,
  kClock,
  kLatency,
  kCount
};

std::vector<FitParameter> parameters_around(const GemmConstants& g) {
  std::vector<FitParameter> list(kCount);
  list[kStart] = {"start", microseconds(g.start.value), 0.5, 30};
  list[kPrologue] = {"prologue", microseconds(g.prologue.value), 0.05, 20};
  list[kStep] = {"step", microseconds(g.step.value), 1e-3, 2};
  list[kMatrix] = {"matrix efficiency", g.matrix_efficiency.value, 0.2, 1};
  list[kEpilogue] = {"exposed epilogue", g.epilogue_exposed.value, 1e-3, 1};
  list[kHbm] = {"HBM efficiency", g.hbm_efficiency.value, 0.2, 1};
  list[kL2] = {"L2 efficiency", g.l2_efficiency.value, 0.2, 1.3};
  list[kClock] = {"sustained clock", g.sustained_clock.value, 0.5, 1};
  list[kLatency] = {"load latency", microseconds(g.load_latency.value), 0.05, 10};
  return list;
}

void set_constants(GemmConstants& g, std::span<const double> values) {
  g.start.value = from_microseconds(values[kStart]);
  g.prologue.value = from_microseconds(values[kPrologue]);
  g.step.value = from_microseconds(values[kStep]);
  g.matrix_efficiency.value = values[kMatrix];
  g.epilogue_exposed.value = values[kEpilogue];
  g.hbm_efficiency.value = values[kHbm];
  g.l2_efficiency.value = values[kL2];
  g.sustained_clock.value = values[kClock];
  g.load_latency.value = from_microseconds(values[kLatency]);
}

model::SmBudget whole(const model::Profile& profile) {
  return model::SmBudget::of(profile.gpu.sms.value);
}

Duration modelled(const model::Profile& profile, const GemmSample& sample) {
  return gemm_cost(profile,
                   {.m = sample.m,
                    .n = sample.n,
                    .k = sample.k,
                    .input = sample.dtype,
                    .output = sample.dtype},
                   whole(profile))
      .time;
}

double rounded_constant(double value) {
  return std::round(value * 1e4) / 1e4;
}

}  // namespace

GemmFit fit_gemm(const model::Profile& profile, const std::vector<GemmSample>& samples,
                 const std::string& table) {
  std::vector<GemmSample> rows;
  for (const GemmSample& sample : samples) {
    if (is_fit_row(sample)) rows.push_back(sample);
  }
  model::Profile trial = profile;
  LeastSquaresProblem problem;
  problem.parameters = parameters_around(*profile.gemm);
  problem.max_iterations = 40;
  problem.residuals = [&](std::span<const double> values) {
    set_constants(*trial.gemm, values);
    std::vector<double> residuals;
    residuals.reserve(rows.size());
    for (const GemmSample& row : rows) {
      residuals.push_back(std::log(ratio(modelled(trial, row), row.time)));
    }
    return residuals;
  };

  GemmFit fit;
  fit.parameters = problem.parameters;
  fit.result = minimise(problem);
  fit.rows = rows.size();
  fit.constants = *profile.gemm;
  set_constants(fit.constants, fit.result.values);
  auto& g = fit.constants;
  for (auto* fraction : {&g.matrix_efficiency, &g.epilogue_exposed, &g.hbm_efficiency,
                         &g.l2_efficiency, &g.sustained_clock}) {
    fraction->value = rounded_constant(fraction->value);
  }
  const auto source = [&](Index i) -> Source {
    if (!fit.result.determined[i]) {
      return {SourceKind::assumed, fmt::format("{} does not determine it", table)};
    }
    if (fit.result.at_bound[i]) {
      return {SourceKind::assumed, fmt::format("limit of the search on {}", table)};
    }
    return {SourceKind::fitted, fmt::format("{}, {} shapes, +-{:.1f} %", table, rows.size(),
                                            100 * fit.result.relative_errors[i])};
  };
  g.start.source = source(kStart);
  g.prologue.source = source(kPrologue);
  g.step.source = source(kStep);
  g.matrix_efficiency.source = source(kMatrix);
  g.epilogue_exposed.source = source(kEpilogue);
  g.hbm_efficiency.source = source(kHbm);
  g.l2_efficiency.source = source(kL2);
  g.sustained_clock.source = source(kClock);
  return fit;
}

model::FamilyError gemm_error(const model::Profile& profile, const std::vector<GemmSample>& samples,
                              const std::string& table) {
  std::vector<Prediction> rows;
  for (const GemmSample& sample : samples) {
    if (!is_fit_row(sample)) rows.push_back({modelled(profile, sample), sample.time});
  }
  return summarise(std::string(model::families::library_products), rows,
                   {SourceKind::measured, table + ", shapes held out of the fit"});
}

}  // namespace weft::calibration
