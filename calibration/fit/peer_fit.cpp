// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/peer_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/fit/transfer_line.hpp"
#include "sim/units/integer.hpp"

namespace weft::calibration {

namespace {

using model::CopyPath;

/// Fewer CTAs than this share of what all reach are held back by themselves.
constexpr double well_below = 0.95;
/// Gathers whose own launch moves, by where their ranks are.
struct InLaunch {
  const char* backend;
  const char* between;
  /// They take so many times their product where their communication is what is measured.
  double outlasts;
  /// Fewer say nothing.
  std::size_t least;
};
constexpr InLaunch between_peers{"peer_gpus", "between peers", 1.4, 10};
/// Of a part of a device products take longer, and what moves inside it is left a smaller part of the time.
constexpr InLaunch inside_device{"virtual_ranks", "inside a device", 1.2, 6};

Bandwidth whole_rate(double rate) {
  return Bandwidth::from_bytes_per_second(std::llround(rate));
}

template <class Costs>
Costs* on_path(std::vector<Costs>& all, CopyPath path) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Costs& each) { return each.path == path; });
  return found == all.end() ? nullptr : &*found;
}

/// A line for each number of CTAs that was measured.
std::map<int, TransferLine> lines_by_ctas(const model::Profile& profile,
                                          const std::vector<Observation>& samples,
                                          TransferKind kind) {
  std::map<int, TransferLine> lines;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (what.backend != kind.backend || what.figure != "B_s" || what.transport != "sm" ||
        !what.ctas || lines.contains(*what.ctas))
      continue;
    kind.ctas = what.ctas;
    if (const auto line = fit_transfers(transfer_rows(profile, samples, kind)))
      lines[*what.ctas] = *line;
  }
  return lines;
}

void fit_engine(model::CopyEngineCosts& engine, const std::optional<TransferLine>& line,
                const char* name) {
  if (!line) return;
  engine.start = {from_microseconds(line->piece), line->source(name, line->piece_error)};
  engine.rate = {whole_rate(line->rate), line->source(name, line->rate_error)};
  engine.duplex_rate = engine.rate;
}

/// A piece of one launch for all of them; `launch`: a piece has one of its own.
void fit_ctas(model::SmCopyCosts& sms, const std::map<int, TransferLine>& lines, double launch,
              const char* name) {
  if (lines.empty()) return;
  const auto most = std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.second.rate < b.second.rate;
  });
  sms.cap = {whole_rate(most->second.rate),
             most->second.source(fmt::format("{} by {} CTAs", name, most->first),
                                 most->second.rate_error)};
  const auto& [fewest, slowest] = *lines.begin();
  if (slowest.rate < well_below * most->second.rate) {
    sms.per_cta = {whole_rate(slowest.rate / fewest),
                   slowest.source(fmt::format("{} by {} CTAs", name, fewest), slowest.rate_error)};
  }
  double pieces = 0, error = 0;
  std::size_t rows = 0;
  for (const auto& [ctas, line] : lines) {
    pieces += line.piece * static_cast<double>(line.rows);
    error = std::max(error, line.piece_error);
    rows += line.rows;
  }
  const double start = pieces / static_cast<double>(rows) - launch;
  TransferLine all;
  all.rows = rows;
  if (start > 0) sms.start = {from_microseconds(start), all.source(name, error)};
}

/// A gather whose own launch moves, and that communication outlasts.
struct GatherRow {
  double bytes = 0, pieces = 0, ctas = 0, micros = 0;
};

std::string gather_name(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {} {} {}", what.suite, s.m, s.n, s.k, *what.chunks, *what.ctas,
                     what.margin.value_or(0));
}

/// Whole boundaries, less the product of the last piece.
std::vector<GatherRow> gathers_in_launch(const std::vector<Observation>& samples,
                                         const InLaunch& kind) {
  const auto is_of = [&kind](const Observation& seen, const char* figure) {
    const Case& what = seen.what();
    return !seen.published && what.figure == figure && what.backend == kind.backend && !what.pass &&
           what.operation == "ag_gemm" && what.schedule == "device_flag" &&
           what.transport == "sm" && what.shape && what.ranks && what.chunks && what.ctas;
  };
  std::map<std::string, const Observation*> products;
  for (const Observation& seen : samples) {
    if (is_of(seen, "A_s") && seen.sample->kernel.tile.size() == 3 && seen.sample->kernel.grid > 0)
      products[gather_name(seen.what())] = &seen;
  }
  std::vector<GatherRow> rows;
  for (const Observation& seen : samples) {
    if (!is_of(seen, "D")) continue;
    const Case& what = seen.what();
    const auto product = products.find(gather_name(what));
    if (product == products.end() || ratio(seen.time(), product->second->time()) < kind.outlasts)
      continue;
    const Shape& s = *what.shape;
    const Kernel& kernel = product->second->sample->kernel;
    const std::int64_t tiles = divide_up(s.m, kernel.tile[0]) * divide_up(s.n, kernel.tile[1]);
    // The rows of the last piece, or a wave of tiles where they are fewer.
    const auto parts = static_cast<double>(
        std::min<std::int64_t>(*what.ranks * *what.chunks, divide_up(tiles, kernel.grid)));
    rows.push_back({static_cast<double>((s.m - s.m / *what.ranks) * s.k * 2),
                    static_cast<double>(*what.chunks * (*what.ranks - 1)),
                    static_cast<double>(*what.ctas),
                    microseconds(seen.time()) - microseconds(product->second->time()) / parts});
  }
  return rows;
}

/// The start of a piece is taken from there too where nothing else says it.
void fit_launch_rate(model::SmCopyCosts& sms, const std::vector<Observation>& samples,
                     const InLaunch& kind) {
  const std::vector<GatherRow> rows = gathers_in_launch(samples, kind);
  if (rows.size() < kind.least) return;
  const double cap = static_cast<double>(sms.cap.value.bytes_per_second());
  LeastSquaresProblem problem;
  problem.parameters = {{.name = "frame", .start = 30, .least = 0.1, .most = 200},
                        {.name = "piece", .start = 5, .least = 0.05, .most = 60},
                        {.name = "per_cta", .start = 15e9, .least = 1e9, .most = 1e12}};
  problem.knee = 0.05;
  problem.residuals = [&rows, cap](std::span<const double> p) {
    std::vector<double> residuals;
    for (const GatherRow& row : rows) {
      const double moved = row.bytes / std::min(row.ctas * p[2], cap) * 1e6;
      residuals.push_back(std::log((p[0] + p[1] * row.pieces + moved) / row.micros));
    }
    return residuals;
  };
  const LeastSquaresResult fit = minimise(problem);
  const auto source = [&](std::size_t i) {
    return model::Source{model::SourceKind::fitted,
                         fmt::format("{} gathers {} that outlast their product, +-{:.1f} %",
                                     rows.size(), kind.between, fit.relative_errors[i] * 100)};
  };
  sms.launch_per_cta = {whole_rate(fit.values[2]), source(2)};
  if (kind.backend == std::string(inside_device.backend))
    sms.start = {from_microseconds(fit.values[1]), source(1)};
}

/// What a stream's wait for a flag adds to a push, where its flag is written by the stream itself.
void fit_stream_wait(model::ControlCosts& control, const std::optional<TransferLine>& plain,
                     const std::optional<TransferLine>& flagged) {
  const double written = microseconds(control.stream_write.value);
  if (!plain || !flagged || flagged->piece <= plain->piece + written) return;
  control.stream_wait_peers = {
      from_microseconds(flagged->piece - plain->piece - written),
      flagged->source("reductions by copy engine between peers that write and await flags, over "
                      "those without and a write",
                      flagged->piece_error)};
}

/// What a stream's write of a flag adds to a copy from a peer.
void fit_stream_write(model::ControlCosts& control, const std::optional<TransferLine>& plain,
                      const std::optional<TransferLine>& flagged) {
  if (!plain || !flagged || flagged->piece <= plain->piece) return;
  control.stream_write_peers = {
      from_microseconds(flagged->piece - plain->piece),
      flagged->source("gathers by copy engine between peers with flags, over those without",
                      flagged->piece_error)};
}

}  // namespace

model::Profile fit_peer_links(model::Profile profile, const std::vector<Observation>& samples) {
  const auto line = [&](const char* operation, const char* schedule = "chunked") {
    return fit_transfers(
        transfer_rows(profile, samples, {"peer_gpus", operation, schedule, "copy_engine"}));
  };
  if (auto* engine = on_path(profile.copy_engines, CopyPath::from_peer))
    fit_engine(*engine, line("ag_gemm"), "gathers by copy engine between peers");
  if (auto* engine = on_path(profile.copy_engines, CopyPath::to_peer))
    fit_engine(*engine, line("gemm_rs"), "reductions by copy engine between peers");
  fit_stream_write(profile.control, line("ag_gemm"), line("ag_gemm", "device_flag"));
  fit_stream_wait(profile.control, line("gemm_rs"), line("gemm_rs", "device_flag"));
  if (auto* sms = on_path(profile.sm_copies, CopyPath::from_peer)) {
    fit_ctas(*sms,
             lines_by_ctas(profile, samples, {"peer_gpus", "ag_gemm", "device_flag", "sm", {}}), 0,
             "gathers of one launch between peers");
    fit_launch_rate(*sms, samples, between_peers);
  }
  if (auto* sms = on_path(profile.sm_copies, CopyPath::same_device))
    fit_launch_rate(*sms, samples, inside_device);
  if (auto* sms = on_path(profile.sm_copies, CopyPath::to_peer)) {
    fit_ctas(*sms, lines_by_ctas(profile, samples, {"peer_gpus", "gemm_rs", "chunked", "sm", {}}),
             microseconds(profile.control.launch.value + profile.control.kernel_drain.value),
             "reductions between peers, less a launch");
  }
  return profile;
}

}  // namespace weft::calibration
