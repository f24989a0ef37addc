// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/sum_fit.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_rows = 20;
/// Partials that take a larger share of the time to come may be what was measured.
constexpr double most_of_coming = 0.7;

struct SumRow {
  double bytes = 0, pieces = 0, ctas = 0, micros = 0;
};

std::vector<SumRow> sum_rows(const model::Profile& profile,
                             const std::vector<Observation>& samples) {
  const model::SmCopyCosts& coming = profile.sm_copy(model::CopyPath::to_peer);
  std::vector<SumRow> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.figure != "B_s" || what.backend != "peer_gpus" || what.pass ||
        what.operation != "gemm_rs" || what.schedule != "device_flag" || what.transport != "sm" ||
        !what.shape || !what.ranks || !what.chunks || !what.ctas)
      continue;
    const Shape& s = *what.shape;
    const std::int64_t own = s.m / *what.ranks * s.n * 2;
    const Bytes others = Bytes::from(own * (*what.ranks - 1));
    const Bandwidth rate = std::min(coming.per_cta.value * *what.ctas, coming.cap.value);
    if (ratio(others / rate, seen.time()) > most_of_coming) continue;
    rows.push_back({static_cast<double>(own) * (*what.ranks + 1), static_cast<double>(*what.chunks),
                    static_cast<double>(*what.ctas), microseconds(seen.time())});
  }
  return rows;
}

}  // namespace

model::Profile fit_sums(model::Profile profile, const std::vector<Observation>& samples) {
  const bool peers = std::any_of(
      profile.sm_copies.begin(), profile.sm_copies.end(),
      [](const model::SmCopyCosts& each) { return each.path == model::CopyPath::to_peer; });
  if (!peers) return profile;
  const std::vector<SumRow> rows = sum_rows(profile, samples);
  std::set<double> ctas, pieces;
  for (const SumRow& row : rows) {
    ctas.insert(row.ctas);
    pieces.insert(row.pieces);
  }
  if (rows.size() < least_rows || ctas.size() < 2 || pieces.size() < 2) return profile;
  LeastSquaresProblem problem;
  problem.parameters = {{.name = "frame", .start = 15, .least = 0.1, .most = 60},
                        {.name = "start", .start = 4, .least = 0.05, .most = 60},
                        {.name = "per_cta", .start = 20e9, .least = 1e8, .most = 1e12},
                        {.name = "cap", .start = 1e12, .least = 1e9, .most = 1e14}};
  problem.knee = 0.05;
  problem.residuals = [&rows](std::span<const double> p) {
    std::vector<double> residuals;
    for (const SumRow& row : rows) {
      const double moved = std::max(row.bytes / (row.ctas * p[2]), row.bytes / p[3]) * 1e6;
      residuals.push_back(std::log((p[0] + p[1] * row.pieces + moved) / row.micros));
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
