// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/product_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "calibration/fit/kernel_fit.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/fit/undetermined.hpp"

namespace weft::calibration {

namespace {

using model::GemmConstants;
using model::Source;
using model::SourceKind;

/// The order of the constants in a vector of values.
struct Term {
  enum Index : std::size_t {
    start,
    own_start,
    prologue,
    step,
    matrix,
    epilogue,
    own_epilogue,
    latency,
    reduction,
    overhang,
    hbm,
    l2,
    clock,
    exponent,
    limited,
    drain,
    fresh,
    after,
    low,
    lasts,
    steep,
    count
  };
};

/// Rows are within this of the model once kernels are corrected; what is further off is named.
constexpr double kOutlier = 0.10;
double rounded_share(double value) {
  return std::round(value * 1e4) / 1e4;
}

std::vector<FitParameter> around(const GemmConstants& g) {
  const model::OwnGemmConstants own =
      g.own.value_or(model::OwnGemmConstants{g.start, g.epilogue_exposed});
  std::vector<FitParameter> list(Term::count);
  list[Term::start] = {"start", microseconds(g.start.value), 0.5, 30};
  list[Term::own_start] = {"own start", microseconds(own.start.value), 0.5, 30};
  list[Term::prologue] = {"prologue", microseconds(g.prologue.value), 1e-3, 20};
  list[Term::step] = {"step", microseconds(g.step.value), 1e-4, 2};
  list[Term::matrix] = {"matrix efficiency", g.matrix_efficiency.value, 0.2, 1.1};
  list[Term::epilogue] = {"exposed epilogue", g.epilogue_exposed.value, 1e-3, 10};
  list[Term::own_epilogue] = {"own exposed epilogue", own.epilogue_exposed.value, 1e-3, 10};
  list[Term::latency] = {"load latency", microseconds(g.load_latency.value), 0.05, 10};
  list[Term::reduction] = {"split reduction", microseconds(g.split_reduction.value), 0.01, 30};
  list[Term::overhang] = {"overhang row", microseconds(g.overhang_row.value), 1e-5, 0.1};
  list[Term::hbm] = {"HBM efficiency", g.hbm_efficiency.value, 0.2, 1};
  list[Term::l2] = {"L2 efficiency", g.l2_efficiency.value, 0.2, 2};
  list[Term::clock] = {"sustained clock", g.sustained_clock.value, 0.5, 1};
  list[Term::exponent] = {"power exponent", g.power_exponent.value, 0.3, 6};
  list[Term::limited] = {"power-limited clock", g.power_limited_clock.value, 0.3, 1};
  // Where none was fitted before: a quick answer of some depth.
  const model::PowerAnswer answer = g.answer.value_or(model::PowerAnswer{
      {0.9, {}}, {from_microseconds(60), {}}, {0.75, {}}, {from_microseconds(40), {}}});
  list[Term::drain] = {"drain", g.drain ? g.drain->value : 0.5, 1e-3, 10};
  list[Term::fresh] = {"fresh clock", answer.fresh_clock.value, 0.5, 1};
  list[Term::after] = {"answer after", microseconds(answer.after.value), 10, 300};
  list[Term::low] = {"low clock", answer.low_clock.value, 0.3, 1};
  list[Term::lasts] = {"answer lasts", microseconds(answer.lasts.value), 1, 500};
  list[Term::steep] = {"answer exponent", answer.exponent.value_or(g.power_exponent).value, 0.3, 6};
  for (FitParameter& p : list) p.start = std::clamp(p.start, p.least, p.most);
  return list;
}

void set_product_constants(GemmConstants& g, std::span<const double> v) {
  if (!g.own) g.own.emplace();
  g.start.value = from_microseconds(v[Term::start]);
  g.own->start.value = from_microseconds(v[Term::own_start]);
  g.prologue.value = from_microseconds(v[Term::prologue]);
  g.step.value = from_microseconds(v[Term::step]);
  g.matrix_efficiency.value = v[Term::matrix];
  g.epilogue_exposed.value = v[Term::epilogue];
  g.own->epilogue_exposed.value = v[Term::own_epilogue];
  g.load_latency.value = from_microseconds(v[Term::latency]);
  g.split_reduction.value = from_microseconds(v[Term::reduction]);
  g.overhang_row.value = from_microseconds(v[Term::overhang]);
  g.power_exponent.value = v[Term::exponent];
  g.hbm_efficiency.value = v[Term::hbm];
  g.l2_efficiency.value = v[Term::l2];
  g.sustained_clock.value = v[Term::clock];
  g.power_limited_clock.value = v[Term::limited];
  if (!g.drain) g.drain.emplace();
  if (!g.answer) g.answer.emplace();
  g.drain->value = v[Term::drain];
  g.answer->fresh_clock.value = v[Term::fresh];
  g.answer->after.value = from_microseconds(v[Term::after]);
  g.answer->low_clock.value = v[Term::low];
  g.answer->lasts.value = from_microseconds(v[Term::lasts]);
  if (!g.answer->exponent) g.answer->exponent.emplace();
  g.answer->exponent->value = v[Term::steep];
}

void set_product_sources(GemmConstants& g, const ProductFit& fit, const std::string& reference) {
  const auto source = [&](Term::Index i) -> Source {
    if (!fit.result.determined[i]) return {SourceKind::assumed, reference + " do not determine it"};
    if (fit.result.at_bound[i]) return {SourceKind::assumed, "limit of the search on " + reference};
    return {SourceKind::fitted, fmt::format("{}, {} products, +-{:.1f} %", reference, fit.rows,
                                            100 * fit.result.relative_errors[i])};
  };
  g.start.source = source(Term::start);
  g.own->start.source = source(Term::own_start);
  g.prologue.source = source(Term::prologue);
  g.step.source = source(Term::step);
  g.matrix_efficiency.source = source(Term::matrix);
  g.epilogue_exposed.source = source(Term::epilogue);
  g.own->epilogue_exposed.source = source(Term::own_epilogue);
  g.load_latency.source = source(Term::latency);
  g.split_reduction.source = source(Term::reduction);
  g.overhang_row.source = source(Term::overhang);
  g.power_exponent.source = source(Term::exponent);
  g.hbm_efficiency.source = source(Term::hbm);
  g.l2_efficiency.source = source(Term::l2);
  g.sustained_clock.source = source(Term::clock);
  g.power_limited_clock.source = source(Term::limited);
  g.drain->source = source(Term::drain);
  g.answer->fresh_clock.source = source(Term::fresh);
  g.answer->after.source = source(Term::after);
  g.answer->low_clock.source = source(Term::low);
  g.answer->lasts.source = source(Term::lasts);
  g.answer->exponent->source = source(Term::steep);
}

}  // namespace

namespace {

bool is_kernel_of(const model::KernelCorrection& kernel, model::GemmLibrary library,
                  const model::GemmTile& tile, std::int64_t split) {
  return kernel.library == library && kernel.tile_m == tile.tile_m &&
         kernel.tile_n == tile.tile_n && kernel.cluster_m == tile.cluster_m &&
         kernel.cluster_n == tile.cluster_n && kernel.split_k == split;
}

/// Constants that a search would hardly better are kept to the last digit: a fit of a fitted profile is that profile.
LeastSquaresResult settled(LeastSquaresProblem problem) {
  constexpr double hardly = 1e-5;  // of the loss
  LeastSquaresResult found = minimise(problem);
  problem.max_iterations = 0;
  LeastSquaresResult there = minimise(problem);
  return there.loss <= found.loss * (1 + hardly) ? there : found;
}

/// Kernels that ran on parts of the device alone are fitted to those products.
void add_kernels_of_parts(model::Profile& profile, const std::vector<Observation>& samples,
                          const std::string& reference) {
  std::vector<ProductSample> rows =
      product_samples(products_in(samples, is_product_on_part), profile.gpu);
  auto& known = profile.gemm->corrections;
  std::erase_if(rows, [&](const ProductSample& row) {
    return std::any_of(known.begin(), known.end(), [&](const model::KernelCorrection& kernel) {
      return is_kernel_of(kernel, row.problem.library, row.kernel, row.split_k);
    });
  });
  for (model::KernelCorrection& kernel : fit_kernels(profile, rows, reference, false))
    known.push_back(std::move(kernel));
}

}  // namespace

ProductFit fit_products(const model::Profile& start, const std::vector<Observation>& samples,
                        const std::string& reference) {
  const std::vector<Observation> seen_products = products_in(samples);
  const std::vector<ProductSample> rows = product_samples(seen_products, start.gpu);
  ProductFit fit;
  fit.rows = rows.size();
  for (const Observation& seen : samples) {
    if (is_product(seen) && has_throttled(*seen.sample)) {
      fit.throttled.push_back(product_label(*seen.sample));
    }
  }
  std::set<std::string> libraries;
  for (const Observation& seen : seen_products) libraries.insert(seen.what().library);
  if (libraries.size() < 2 || rows.size() < 3 * Term::count) {
    throw UndeterminedFit("GEMM constants", "products of both libraries", "gemm");
  }

  model::Profile trial = start;
  trial.gemm->corrections.clear();
  trial.gemm->measured.clear();
  trial.gemm->measured_on_parts.clear();
  LeastSquaresProblem problem;
  problem.parameters = around(*start.gemm);
  problem.knee = 0.02;
  problem.max_iterations = 40;
  problem.residuals = [&](std::span<const double> values) {
    set_product_constants(*trial.gemm, values);
    return product_residuals(trial, rows);
  };
  fit.parameters = problem.parameters;
  fit.result = settled(problem);
  set_product_constants(*trial.gemm, fit.result.values);
  auto& g = *trial.gemm;
  for (auto* number :
       {&g.matrix_efficiency, &g.epilogue_exposed, &g.hbm_efficiency, &g.l2_efficiency,
        &g.sustained_clock, &g.power_exponent, &g.power_limited_clock, &g.own->epilogue_exposed,
        &*g.drain, &g.answer->fresh_clock, &g.answer->low_clock}) {
    number->value = rounded_share(number->value);
  }
  set_product_sources(g, fit, reference);
  g.corrections = fit_kernels(trial, rows, reference);
  add_kernels_of_parts(trial, samples, reference);
  const std::vector<double> left = product_residuals(trial, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(left[i]) > kOutlier) {
      fit.outliers.push_back({product_label(*seen_products[i].sample), std::expm1(left[i])});
    }
  }
  fit.constants = g;
  return fit;
}

}  // namespace weft::calibration
