// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/behind_fit.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "calibration/accuracy/quantile.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/predict/conditions.hpp"
#include "calibration/predict/frame.hpp"
#include "models/cost/gemm.hpp"
#include "models/schedules/chunk_plan.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_cut_products = 10;
/// With fewer launches what a product's price is off hides them.
constexpr int least_behind = 4;
/// With fewer waits what copies beside the first ones hold back hides them.
constexpr int least_waits = 8;
/// Nor do pieces that are longer in the mean say anything.
constexpr Duration longest_piece = Duration::from_ps(60'000'000);
/// Of the highest clock seen: a slower one was held back.
constexpr double full_clock = 0.98;

/// What pieces of a chunked product take alone, one after the other, and how many of them are behind another.
struct Pieces {
  Duration alone;
  int behind = 0;
  bool kept = false;  ///< the L2 has W when a piece of what is moved begins
};

class Pricing {
 public:
  explicit Pricing(const model::Profile& profile) : profile_(profile) {}

  Pieces pieces_of(const Case& what, int ranks) {
    const Shape& shape = *what.shape;
    const model::ChunkPlan plan(shape.m, ranks, what.chunks.value_or(1) * (ranks - 1),
                                model::ChunkOrder::rotated, what.operation == "ag_gemm");
    Pieces pieces;
    int products = 0;
    for (int chunk = 0; chunk < plan.size(); ++chunk) {
      const std::int64_t rows = plan.rows_of(0, chunk);
      if (rows == 0) continue;
      const Piece& piece = piece_of(what.library, rows, shape);
      pieces.alone += piece.time;
      pieces.kept = pieces.kept || piece.kept;
      ++products;
    }
    pieces.behind = products - 1;
    return pieces;
  }

 private:
  struct Piece {
    Duration time;
    bool kept = false;
  };

  const Piece& piece_of(const std::string& library, std::int64_t rows, const Shape& whole) {
    const auto [at, fresh] = times_.try_emplace({library, rows, whole.n, whole.k, whole.m});
    if (fresh) {
      model::GemmProblem problem{.m = rows, .n = whole.n, .k = whole.k};
      problem.library = library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
      problem.follows_others = problem.weights_there = rows < whole.m;
      const model::GemmCost cost =
          gemm_cost(profile_, problem, model::SmBudget::of(profile_.gpu, profile_.gpu.sms.value));
      at->second = {cost.time, cost.weights_kept};
    }
    return at->second;
  }

  const model::Profile& profile_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, Piece>
      times_;
};

/// Launches behind another, in microseconds beyond what is spared of an event.
struct Launches {
  std::vector<double> cold, kept;
};

std::optional<model::Sourced<Duration>> median_of(std::vector<double> times, const char* what) {
  if (times.size() < least_cut_products) return std::nullopt;
  std::sort(times.begin(), times.end());
  return model::Sourced<Duration>{
      from_microseconds(std::max(0.0, quantile(times, 0.5))),
      {model::SourceKind::fitted,
       fmt::format("{} products in chunks {}, a launch; half of them from {:.1f} to {:.1f} us",
                   times.size(), what, quantile(times, 0.25), quantile(times, 0.75))}};
}

bool is_cut(const Observation& seen, const char* figure) {
  const Case& what = seen.what();
  return !seen.published && what.figure == figure && what.schedule == "chunked" &&
         what.transport == "copy_engine" && what.backend != "virtual_ranks" && !what.pass &&
         what.shape;
}

std::string cut_of(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {} {} {} {} {}", what.backend, what.operation, what.library, s.m,
                     s.n, s.k, what.chunks.value_or(1), what.ranks.value_or(2));
}

/// What gathers whose product hides the copies take beyond that product, a launch, by library.
std::map<std::string, std::vector<double>> waits_of(const std::vector<Observation>& samples) {
  std::map<std::string, Duration> computes, moves;
  for (const Observation& seen : samples) {
    if (is_cut(seen, "A_s")) computes.emplace(cut_of(seen.what()), seen.time());
    if (is_cut(seen, "B_s")) moves.emplace(cut_of(seen.what()), seen.time());
  }
  std::map<std::string, std::vector<double>> waits;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!is_cut(seen, "D") || what.operation != "ag_gemm") continue;
    const auto compute = computes.find(cut_of(what)), move = moves.find(cut_of(what));
    const int launches = what.chunks.value_or(1) * (what.ranks.value_or(2) - 1);
    if (compute == computes.end() || move == moves.end() || launches < least_waits ||
        move->second * 2 > compute->second)
      continue;
    waits[what.library].push_back(microseconds(seen.time() - compute->second) / launches);
  }
  return waits;
}

}  // namespace

model::Profile fit_behind(model::Profile profile, const std::vector<Observation>& samples) {
  if (!profile.gemm) return profile;
  const int boost = highest_clock(samples);
  const Frames frames = frames_of(samples);
  const double event = microseconds(profile.control.event_hop.value);
  Pricing pricing(profile);
  std::map<std::pair<std::string, std::string>, Launches> behind;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!is_cut(seen, "A_s") || seen.sample->conditions.sm_mhz < full_clock * boost) continue;
    const std::optional<Duration> frame = frame_of(frames, what);
    if (!frame) continue;
    const Pieces pieces = pricing.pieces_of(what, what.ranks.value_or(2));
    if (pieces.behind < least_behind || pieces.alone > longest_piece * std::int64_t{pieces.behind})
      continue;
    const double spared = microseconds(pieces.alone + *frame - seen.time()) / pieces.behind;
    Launches& all = behind[{what.library, what.backend}];
    (pieces.kept ? all.kept : all.cold).push_back(event - spared);
  }
  std::map<std::string, std::vector<double>> waits = waits_of(samples);
  const auto fitted = [&](const char* library) -> std::optional<model::BehindAnother> {
    const Launches &host = behind[{library, "host_link"}], &peer = behind[{library, "peer_gpus"}];
    const auto here = median_of(host.cold, "whose W is read again, over their pieces alone");
    const auto peers = median_of(peer.cold, "whose W is read again, over their pieces alone");
    if (!here && !peers) return std::nullopt;
    model::BehindAnother fit{here ? *here : *peers, here ? peers : std::nullopt, {}};
    std::vector<double> less;
    const auto compare = [&less](const Launches& launches, const auto& cold) {
      if (!cold) return;
      for (const double kept : launches.kept) less.push_back(microseconds(cold->value) - kept);
    };
    compare(host, here);
    compare(peer, peers);
    fit.kept = median_of(std::move(less), "whose W the L2 keeps, less than others");
    fit.waits = median_of(waits[library], "that hide what they gather, over the same not gathered");
    return fit;
  };
  if (const auto its = fitted("cublaslt")) profile.gemm->behind = its;
  if (const auto its = fitted("weft"); its && profile.gemm->own) profile.gemm->own->behind = its;
  return profile;
}

}  // namespace weft::calibration
