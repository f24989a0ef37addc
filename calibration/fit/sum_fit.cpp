// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/sum_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_rows = 9;
/// Partials that take a larger share of the time to come may be what was measured.
constexpr double most_of_coming = 0.7;

struct SumRow {
  double bytes = 0, pieces = 0, ctas = 0, micros = 0;
};

bool is_sum(const Observation& seen, const char* figure) {
  const Case& what = seen.what();
  return !seen.published && what.figure == figure && what.backend == "peer_gpus" && !what.pass &&
         what.operation == "gemm_rs" && what.schedule == "device_flag" && what.transport == "sm" &&
         what.shape && what.ranks && what.chunks && what.ctas;
}

SumRow row_of(const Case& what, Duration time) {
  const Shape& s = *what.shape;
  const double own = static_cast<double>(s.m / *what.ranks * s.n * 2);
  return {own * (*what.ranks + 1), static_cast<double>(*what.chunks),
          static_cast<double>(*what.ctas), microseconds(time)};
}

std::string sum_name(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {} {}", what.suite, s.m, s.n, s.k, *what.ctas,
                     what.margin.value_or(0));
}

/// What reductions in one piece take beyond their product.
std::vector<SumRow> after_products(const std::vector<Observation>& samples) {
  std::map<std::string, Duration> products;
  for (const Observation& seen : samples) {
    if (is_sum(seen, "A_s") && seen.what().chunks == 1)
      products[sum_name(seen.what())] = seen.time();
  }
  std::vector<SumRow> rows;
  for (const Observation& seen : samples) {
    if (!is_sum(seen, "D") || seen.what().chunks != 1) continue;
    const auto product = products.find(sum_name(seen.what()));
    if (product != products.end() && product->second < seen.time())
      rows.push_back(row_of(seen.what(), seen.time() - product->second));
  }
  return rows;
}

/// Launches that add alone.
std::vector<SumRow> alone(const model::SmCopyCosts& coming,
                          const std::vector<Observation>& samples) {
  std::vector<SumRow> rows;
  for (const Observation& seen : samples) {
    if (!is_sum(seen, "B_s")) continue;
    const Case& what = seen.what();
    const Bytes others =
        Bytes::from(what.shape->m / *what.ranks * what.shape->n * 2 * (*what.ranks - 1));
    const Bandwidth rate = std::min(coming.per_cta.value * *what.ctas, coming.cap.value);
    if (ratio(others / rate, seen.time()) <= most_of_coming)
      rows.push_back(row_of(what, seen.time()));
  }
  return rows;
}

}  // namespace

model::Profile fit_sums(model::Profile profile, const std::vector<Observation>& samples) {
  const bool peers = std::any_of(
      profile.sm_copies.begin(), profile.sm_copies.end(),
      [](const model::SmCopyCosts& each) { return each.path == model::CopyPath::to_peer; });
  if (!peers) return profile;
  const std::vector<SumRow> after = after_products(samples);
  const std::vector<SumRow> rows = alone(profile.sm_copy(model::CopyPath::to_peer), samples);
  std::set<double> ctas, pieces;
  for (const SumRow& row : after) ctas.insert(row.ctas);
  for (const SumRow& row : rows) pieces.insert(row.pieces);
  if (after.size() < least_rows || rows.size() < least_rows || ctas.size() < 2 || pieces.size() < 2)
    return profile;
  LeastSquaresProblem problem;
  problem.parameters = {{.name = "tail", .start = 15, .least = 0.1, .most = 60},
                        {.name = "start", .start = 4, .least = 0.05, .most = 60},
                        {.name = "per_cta", .start = 20e9, .least = 1e8, .most = 1e12},
                        {.name = "cap", .start = 1e12, .least = 1e9, .most = 1e14},
                        {.name = "frame", .start = 15, .least = 0.1, .most = 60},
                        {.name = "rate", .start = 20e9, .least = 1e8, .most = 1e12}};
  problem.knee = 0.05;
  problem.residuals = [&after, &rows](std::span<const double> p) {
    std::vector<double> residuals;
    for (const SumRow& row : after) {
      const double moved = std::max(row.bytes / (row.ctas * p[2]), row.bytes / p[3]) * 1e6;
      residuals.push_back(std::log((p[0] + moved) / row.micros));
    }
    for (const SumRow& row : rows) {
      const double moved = row.bytes / (row.ctas * p[5]) * 1e6;
      residuals.push_back(std::log((p[4] + p[1] * row.pieces + moved) / row.micros));
    }
    return residuals;
  };
  const LeastSquaresResult fit = minimise(problem);
  const auto source = [&](std::size_t i) {
    return model::Source{model::SourceKind::fitted,
                         fmt::format("B_s of reductions whose launch adds, {} rows, +-{:.1f} %",
                                     rows.size(), fit.relative_errors[i] * 100)};
  };
  const auto rate = [&](std::size_t i) {
    return model::Sourced<Bandwidth>{Bandwidth::from_bytes_per_second(std::llround(fit.values[i])),
                                     source(i)};
  };
  model::SumCosts sums;
  sums.start = {from_microseconds(fit.values[1]), source(1)};
  // What the model knows of the way there by itself is taken off.
  const Duration known = sums.start.value + profile.control.signal_peer.value;
  sums.tail = {std::max(Duration(), from_microseconds(fit.values[0]) - known), source(0)};
  sums.per_cta = rate(2);
  // No number of CTAs that was measured reaches a limit of all: the memory's own holds.
  sums.cap =
      fit.determined[3] && !fit.at_bound[3]
          ? rate(3)
          : model::Sourced<Bandwidth>{
                Bandwidth::from_bytes_per_second(
                    std::llround(static_cast<double>(profile.gpu.hbm.value.bytes_per_second()) *
                                 (profile.memory ? profile.memory->hbm_efficiency.value : 1))),
                profile.memory ? profile.memory->hbm_efficiency.source : profile.gpu.hbm.source};
  profile.sums = sums;
  return profile;
}

}  // namespace weft::calibration
