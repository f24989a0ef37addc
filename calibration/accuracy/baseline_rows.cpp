// SPDX-License-Identifier: Apache-2.0
// What others predict by, on the same cases; shown by --against.
//
//   the longer of the two     max(A, B)
//   one after the other       A + B
//   a flat slow-down          max(1.15 A, B): a product beside communication takes 15 % longer
//   waves at SMs - 2          FlashOverlap's predictor with the bandwidth curve of the measured reductions; it speaks
//                             of products whose tiles are reduced in groups (models/cost/flashoverlap_predictor.hpp)
//   ring alpha-beta           steps * alpha + bytes on the wire / beta, both fitted to the rows that may be fitted
//
// A and B, the product and the communication alone, are the model's own, so that only the rule differs.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/fit_profile.hpp"
#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/predict/conditions.hpp"
#include "calibration/predict/predictor.hpp"
#include "models/cost/flashoverlap_predictor.hpp"
#include "models/cost/gemm.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/integer.hpp"

namespace weft::calibration {

namespace {

enum class Rule : std::uint8_t { longer, sum, slowed, waves };

constexpr double kFlatSlowDown = 1.15;

bool is_fused_over_host_link(const Observation& seen) {
  const Case& what = seen.what();
  return !seen.published && what.figure == "D" && what.backend == "host_link" && !what.pass &&
         what.shape && what.chunks && what.ranks;
}

/// Elements of a product and the bandwidth of its reduction alone, as FlashOverlap's tuner measures it: GiB of
/// elements of two bytes, over (ranks - 1) peers, a second.
std::vector<std::pair<double, double>> bandwidth_curve(const std::vector<Observation>& samples,
                                                       const std::string& transport, int ranks) {
  std::map<double, std::vector<double>> rates;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (seen.published || what.figure != "B" || what.operation != "gemm_rs" || !what.shape ||
        what.backend != "host_link" || what.transport != transport || what.pass ||
        what.ranks != ranks) {
      continue;
    }
    const double elements = static_cast<double>(what.shape->m * what.shape->n);
    rates[elements].push_back(elements * 2 * (ranks - 1) / microseconds(seen.time()) * 1e6 /
                              std::pow(2.0, 30));
  }
  std::vector<std::pair<double, double>> curve;
  for (auto& [elements, seen] : rates) {
    std::sort(seen.begin(), seen.end());
    curve.emplace_back(elements, seen[seen.size() / 2]);
  }
  return curve;
}

/// Predicts by a rule from what the model says of the product and of the communication alone.
class RulePredictor {
 public:
  explicit RulePredictor(const Knowledge& knowledge)
      : predictor_(*knowledge.machine, knowledge.profile, frames_of(knowledge.samples)),
        samples_(knowledge.samples) {}

  std::optional<Duration> predict(Rule rule, const Case& what, std::int64_t speed) {
    const auto product = alone(what, "A", speed), moved = alone(what, "B", speed);
    if (!product || !moved) return std::nullopt;
    switch (rule) {
      case Rule::longer:
        return std::max(*product, *moved);
      case Rule::sum:
        return *product + *moved;
      case Rule::slowed:
        return std::max(from_microseconds(microseconds(*product) * kFlatSlowDown), *moved);
      case Rule::waves:
        break;
    }
    return by_waves(what, *product);
  }

 private:
  std::optional<Duration> alone(Case what, const char* figure, std::int64_t speed) {
    what.figure = figure;
    const Shape& s = *what.shape;
    const std::string name =
        fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", figure, what.operation, s.m, s.n, s.k,
                    what.library, what.transport, *what.ranks, what.ctas.value_or(0),
                    what.pace_bytes_per_second.value_or(0), what.margin.value_or(0), speed);
    const auto found = alone_.find(name);
    if (found != alone_.end()) return found->second;
    const auto predicted = predictor_.predict(what, {}, speed);
    std::optional<Duration> time;
    if (predicted) time = predicted->expected();
    return alone_.emplace(name, time).first->second;
  }

  std::optional<Duration> by_waves(const Case& what, Duration product) {
    if (what.operation != "gemm_rs") return std::nullopt;
    const auto [curve, fresh] = curves_.try_emplace({what.transport, *what.ranks});
    if (fresh) curve->second = bandwidth_curve(samples_, what.transport, *what.ranks);
    if (curve->second.empty()) return std::nullopt;
    const model::Profile& profile = predictor_.profile();
    const Shape& s = *what.shape;
    const auto sms = profile.gpu.sms.value;
    const auto library =
        what.library == "weft" ? model::GemmLibrary::ours : model::GemmLibrary::cublaslt;
    const model::GemmCost cost =
        gemm_cost(profile, {.m = s.m, .n = s.n, .k = s.k, .library = library},
                  model::SmBudget::of(profile.gpu, sms));
    const model::FlashOverlapProblem problem{.m = s.m,
                                             .n = s.n,
                                             .tiles = cost.tiles,
                                             .sms = static_cast<int>(sms),
                                             .ranks = *what.ranks,
                                             .op = CollectiveOp::reduce_scatter,
                                             .gemm = microseconds(product) * 1e-6,
                                             .bandwidth = curve->second};
    // Its search looks at groups of whole waves only.
    const std::int64_t groups = *what.chunks;
    if (groups > divide_up(cost.tiles, sms - 2)) return std::nullopt;
    std::vector<std::int64_t> tiles;
    for (std::int64_t i = 0; i < groups; ++i) {
      tiles.push_back(cost.tiles * (i + 1) / groups - cost.tiles * i / groups);
    }
    return from_microseconds(flashoverlap_predict(problem, tiles) * 1e6);
  }

  Predictor predictor_;
  const std::vector<Observation>& samples_;
  std::map<std::pair<std::string, int>, std::vector<std::pair<double, double>>> curves_;
  std::map<std::string, std::optional<Duration>> alone_;
};

class RuleRow final : public ErrorTableRow {
 public:
  RuleRow(std::string name, Rule rule) : name_(std::move(name)), rule_(rule) {}

  ErrorClaim claim() const override {
    ErrorClaim claim{.name = "baseline over the host link: " + name_, .median = {}, .p95 = {}};
    claim.baseline = true;
    return claim;
  }
  bool takes(const Observation& seen) const override { return is_fused_over_host_link(seen); }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<Point> points;
    if (knowledge.machine == nullptr) return points;
    RulePredictor predictor(knowledge);
    const int boost = highest_clock(knowledge.samples);
    for (const Observation& seen : asked) {
      const auto time = predictor.predict(rule_, seen.what(), speed_permille(*seen.sample, boost));
      if (!time) continue;
      points.push_back({fmt::format("{} {} chunks", seen.what().boundary, *seen.what().chunks),
                        *time, seen.time(), seen.held});
    }
    return points;
  }

 private:
  std::string name_;
  Rule rule_;
};

struct RingRow {
  double steps = 0, bytes = 0;
  Duration time;
};

/// Steps of a ring and the bytes that one rank sends over it.
std::optional<RingRow> ring_row(const Observation& seen) {
  const Case& what = seen.what();
  const auto op = collective_op_of(what.operation);
  if (!is_library_collective(seen) || !op || !what.ranks) return std::nullopt;
  const double rounds = *op == CollectiveOp::all_reduce ? 2 : 1;
  const Bytes bytes = wire_bytes(*op, Bytes::from(*what.bytes), *what.ranks);
  return RingRow{rounds * (*what.ranks - 1), static_cast<double>(bytes.count()), seen.time()};
}

class RingAlphaBeta final : public ErrorTableRow {
 public:
  ErrorClaim claim() const override {
    ErrorClaim claim{
        .name = "baseline for NCCL, >= 64 KiB: ring alpha-beta", .median = {}, .p95 = {}};
    claim.baseline = true;
    return claim;
  }
  bool takes(const Observation& seen) const override {
    return is_library_collective(seen) && *seen.what().bytes >= std::int64_t{64} << 10;
  }
  std::vector<Point> predict(const Knowledge& knowledge,
                             const std::vector<Observation>& asked) const override {
    std::vector<RingRow> rows;
    for (const Observation& seen : knowledge.samples) {
      if (const auto row = ring_row(seen)) rows.push_back(*row);
    }
    std::vector<Point> points;
    if (rows.size() < 3) return points;
    LeastSquaresProblem problem;
    problem.parameters = {{"alpha", 5, 0.1, 100}, {"beta", 300, 1, 1e4}};  // us, GB/s
    const auto modelled = [](const RingRow& row, std::span<const double> v) {
      return row.steps * v[0] + row.bytes / v[1] * 1e-3;
    };
    problem.residuals = [&](std::span<const double> v) {
      std::vector<double> residuals;
      for (const RingRow& row : rows) {
        residuals.push_back(std::log(modelled(row, v) / microseconds(row.time)));
      }
      return residuals;
    };
    const std::vector<double> constants = minimise(problem).values;
    for (const Observation& seen : asked) {
      const auto row = ring_row(seen);
      if (!row) continue;
      points.push_back({fmt::format("{} over {}", seen.what().operation, *seen.what().ranks),
                        from_microseconds(modelled(*row, constants)), seen.time(), seen.held});
    }
    return points;
  }
};

}  // namespace

void add_baseline_rows(ErrorRows& rows) {
  const std::pair<const char*, Rule> rules[] = {
      {"the longer of product and communication", Rule::longer},
      {"one after the other", Rule::sum},
      {"the product 15 % slower", Rule::slowed},
      {"FlashOverlap's waves at SMs - 2", Rule::waves}};
  for (const auto& [name, rule] : rules) rows.push_back(std::make_unique<RuleRow>(name, rule));
  rows.push_back(std::make_unique<RingAlphaBeta>());
}

}  // namespace weft::calibration
