// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "models/cost/roofline.hpp"

namespace weft::calibration {

namespace {

using model::CopyPath;
using model::Profile;

double link_micros(Duration time) {
  return static_cast<double>(time.ps()) * 1e-6;
}

/// Transfers of one kind.
struct TransferKind {
  std::string operation, schedule, transport;
};

struct TransferRow {
  double bytes = 0, pieces = 0, micros = 0;
};

/// Rows of a kind: bytes one way, pieces, and the time without the final sum.
std::vector<TransferRow> transfer_rows(const Profile& profile,
                                       const std::vector<Observation>& samples,
                                       const TransferKind& kind) {
  std::vector<TransferRow> rows;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.figure != "B_s" || what.backend != "host_link" || what.pass ||
        what.operation != kind.operation || what.schedule != kind.schedule ||
        what.transport != kind.transport || !what.shape || !what.ranks || !what.chunks)
      continue;
    const Shape& s = *what.shape;
    const std::int64_t own = s.m / *what.ranks;
    const bool gathers = kind.operation == "ag_gemm";
    const std::int64_t width = 2 * (gathers ? s.k : s.n);
    TransferRow row{.bytes = static_cast<double>((s.m - own) * width),
                    .pieces = static_cast<double>(*what.chunks * (*what.ranks - 1)),
                    .micros = link_micros(seen.time())};
    if (!gathers && profile.memory) {
      const Bytes summed = Bytes::from(own * width * (*what.ranks + 1));
      row.micros -= link_micros(
          model::memory_cost(profile, summed, model::SmBudget::of(profile.gpu.sms.value)).time);
    }
    if (row.micros > 0) rows.push_back(row);
  }
  return rows;
}

/// frame + pieces * piece + bytes / rate, in microseconds and bytes a second.
struct TransferLine {
  double frame = 0, piece = 0, rate = 0;
  double frame_error = 0, piece_error = 0, rate_error = 0;  ///< fractions
  std::size_t rows = 0;

  [[nodiscard]] model::Source source(const std::string& what, double error) const {
    return {model::SourceKind::fitted,
            fmt::format("B_s of {}, {} rows, +-{:.1f} %", what, rows, error * 100)};
  }
};

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

Duration duration_of_micros(double time) {
  return Duration::from_ps(std::max<std::int64_t>(0, std::llround(time * 1e6)));
}

Bandwidth bandwidth_of_rate(double rate) {
  return Bandwidth::from_bytes_per_second(std::llround(rate));
}

template <class Costs>
Costs* costs_on_path(std::vector<Costs>& all, CopyPath path) {
  for (Costs& costs : all) {
    if (costs.path == path) return &costs;
  }
  return nullptr;
}

}  // namespace

Profile fit_host_link(Profile profile, const std::vector<Observation>& samples) {
  const auto line = [&](const char* operation, const char* schedule, const char* transport) {
    return fit_transfers(transfer_rows(profile, samples, {operation, schedule, transport}));
  };
  const auto in = line("ag_gemm", "chunked", "copy_engine");
  const auto both = line("gemm_rs", "chunked", "copy_engine");
  const auto flagged = line("ag_gemm", "device_flag", "copy_engine");
  const auto read = line("ag_gemm", "device_flag", "sm");
  const auto duplex = line("gemm_rs", "chunked", "sm");
  const auto single = line("gemm_rs", "device_flag", "sm");
  const auto awaited = line("gemm_rs", "device_flag", "copy_engine");

  for (const CopyPath path : {CopyPath::from_host, CopyPath::to_host}) {
    model::CopyEngineCosts* engine = costs_on_path(profile.copy_engines, path);
    if (engine == nullptr) continue;
    const bool inbound = path == CopyPath::from_host;
    const auto& alone = inbound ? in : both;
    if (alone) {
      engine->start = {
          duration_of_micros(alone->piece),
          alone->source(inbound ? "gathers by copy engine" : "reductions by copy engine",
                        alone->piece_error)};
    }
    if (in) {
      // No schedule sends one way only: the way out is taken to be as fast as the way in, as single copies are.
      engine->rate = {bandwidth_of_rate(in->rate),
                      in->source("gathers by copy engine", in->rate_error)};
    }
    if (both) {
      engine->duplex_rate = {bandwidth_of_rate(both->rate),
                             both->source("reductions by copy engine", both->rate_error)};
    }
  }
  if (in) {
    // One hop to the stream that copies and one back.
    profile.control.event_hop = {
        duration_of_micros(in->frame / 2),
        in->source("gathers by copy engine: half of the frame", in->frame_error)};
  }
  if (in && flagged && flagged->piece > in->piece) {
    profile.control.stream_write = {
        duration_of_micros(flagged->piece - in->piece),
        flagged->source("gathers by copy engine with flags, over those without",
                        flagged->piece_error)};
  }
  // Where transfers are measured without the product, each flag is written by the stream that waits for it.
  const double written = link_micros(profile.control.stream_write.value);
  if (both && awaited && awaited->piece > both->piece + written) {
    profile.control.stream_wait = {
        duration_of_micros(awaited->piece - both->piece - written),
        awaited->source(
            "reductions by copy engine that write and await flags, over those without and a write",
            awaited->piece_error)};
  }
  for (const CopyPath path : {CopyPath::from_host, CopyPath::to_host}) {
    model::SmCopyCosts* sms = costs_on_path(profile.sm_copies, path);
    if (sms == nullptr) continue;
    if (read && path == CopyPath::from_host) {
      sms->start = {duration_of_micros(read->piece),
                    read->source("gathers by CTAs of one launch", read->piece_error)};
    }
    if (duplex) {
      // One launch that moves all pieces shows the rate by itself.
      const TransferLine& steady = single ? *single : *duplex;
      sms->duplex_cap = {bandwidth_of_rate(steady.rate),
                         steady.source("reductions by CTAs", steady.rate_error)};
      const double launched =
          link_micros(profile.control.launch.value + profile.control.kernel_drain.value);
      if (duplex->piece > launched) {
        sms->duplex_start = {
            duration_of_micros(duplex->piece - launched),
            duplex->source("reductions by CTAs, less a launch", duplex->piece_error)};
      }
    }
  }
  return profile;
}

}  // namespace weft::calibration
