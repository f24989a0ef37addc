// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/transfer_line.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"
#include "models/cost/roofline.hpp"

namespace weft::calibration {

std::vector<TransferRow> transfer_rows(const model::Profile& profile,
                                       const std::vector<Observation>& samples,
                                       const TransferKind& kind) {
  std::vector<TransferRow> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.figure != "B_s" || what.backend != kind.backend || what.pass ||
        what.operation != kind.operation || what.schedule != kind.schedule ||
        what.transport != kind.transport || !what.shape || !what.ranks || !what.chunks ||
        (kind.ctas && what.ctas != kind.ctas))
      continue;
    const Shape& s = *what.shape;
    const std::int64_t own = s.m / *what.ranks;
    const bool gathers = kind.operation == "ag_gemm";
    const std::int64_t width = 2 * (gathers ? s.k : s.n);
    TransferRow row{.bytes = static_cast<double>((s.m - own) * width),
                    .pieces = static_cast<double>(*what.chunks * (*what.ranks - 1)),
                    .micros = microseconds(seen.time())};
    if (!gathers && profile.memory) {
      const Bytes summed = Bytes::from(own * width * (*what.ranks + 1));
      row.micros -= microseconds(
          model::memory_cost(profile, summed, model::SmBudget::of(profile.gpu.sms.value)).time);
    }
    if (row.micros > 0) rows.push_back(row);
  }
  return rows;
}

model::Source TransferLine::source(const std::string& what, double error) const {
  return {model::SourceKind::fitted,
          fmt::format("B_s of {}, {} rows, +-{:.1f} %", what, rows, error * 100)};
}

std::optional<TransferLine> fit_transfers(const std::vector<TransferRow>& rows) {
  std::set<double> pieces, bytes;
  for (const TransferRow& row : rows) {
    pieces.insert(row.pieces);
    bytes.insert(row.bytes);
  }
  if (pieces.size() < 2 || bytes.size() < 2 || rows.size() < 6) return std::nullopt;
  LeastSquaresProblem problem;
  problem.parameters = {{.name = "frame", .start = 8, .least = 0.1, .most = 60},
                        {.name = "piece", .start = 4, .least = 0.05, .most = 60},
                        {.name = "rate", .start = 40e9, .least = 1e9, .most = 1e12}};
  problem.knee = 0.01;
  problem.residuals = [&rows](std::span<const double> p) {
    std::vector<double> residuals;
    for (const TransferRow& row : rows)
      residuals.push_back(
          std::log((p[0] + p[1] * row.pieces + row.bytes / p[2] * 1e6) / row.micros));
    return residuals;
  };
  const LeastSquaresResult result = minimise(problem);
  return TransferLine{.frame = result.values[0],
                      .piece = result.values[1],
                      .rate = result.values[2],
                      .frame_error = result.relative_errors[0],
                      .piece_error = result.relative_errors[1],
                      .rate_error = result.relative_errors[2],
                      .rows = rows.size()};
}

}  // namespace weft::calibration
