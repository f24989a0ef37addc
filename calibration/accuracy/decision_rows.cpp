// SPDX-License-Identifier: Apache-2.0
// Which cell of a boundary would be picked, against exhaustive measurement.
//
// A case is an operation at a boundary, of one library (what sums rows may leave them at their owners or share them);
// its cells are all that was measured of it: serial and every schedule, mover, chunk count and margin. The pick is the
// cell of the least predicted time, by its worse mode. Truth is the set that was measured again in separate runs: regret
// is the pick's time there over the best one's; a pick that was not measured again takes its first time over the best
// one's first. Noise is how far the runs of a cell differ: the median over the cells that were measured again of
// (most - least) / median.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/predict/conditions.hpp"
#include "calibration/predict/predictor.hpp"

namespace weft::calibration {

namespace {

/// Overlap or not counts where the two differ by more than this.
constexpr double kVerdictMargin = 0.03;

struct Cell {
  Case what;
  std::optional<Duration> first;
  std::vector<Duration> again;  ///< one a separate run
  std::optional<Duration> predicted;

  [[nodiscard]] bool serial() const { return what.figure == "C"; }
  [[nodiscard]] Duration truth() const { return median(again); }
};

using Cells = std::vector<Cell>;

std::string case_of(const Case& what) {
  const Shape& s = *what.shape;
  return fmt::format("{} {} {} {}x{}x{} {}", what.model, what.boundary, what.operation, s.m, s.n,
                     s.k, what.library);
}

std::string cell_of(const Case& what) {
  return fmt::format("{} {} {} {} {} {}", what.figure, what.schedule, what.transport,
                     what.chunks.value_or(0), what.margin.value_or(0), what.ctas.value_or(0));
}

double over(Duration a, Duration b) {
  return ratio(a, b) - 1;
}

template <class Time>
const Cell* least(const Cells& cells, const Time& time) {
  const Cell* best = nullptr;
  std::optional<Duration> least_time;
  for (const Cell& cell : cells) {
    const std::optional<Duration> its = time(cell);
    if (its && (!least_time || *its < *least_time)) {
      least_time = its;
      best = &cell;
    }
  }
  return best;
}

double noise_of(const Cells& cells) {
  std::vector<double> spreads;
  for (const Cell& cell : cells) {
    if (cell.again.size() < 2) continue;
    const auto [low, high] = std::minmax_element(cell.again.begin(), cell.again.end());
    spreads.push_back(ratio(*high - *low, cell.truth()));
  }
  if (spreads.empty()) return 0;
  std::sort(spreads.begin(), spreads.end());
  return spreads[spreads.size() / 2];
}

std::optional<Decision> judge(const std::string& label, const Cells& cells) {
  const auto truth = [](const Cell& cell) {
    return cell.again.empty() ? std::optional<Duration>() : cell.truth();
  };
  const auto predicted = [](const Cell& cell) { return cell.predicted; };
  const auto among = [](bool serial, const auto& time) {
    return [serial, &time](const Cell& cell) {
      return cell.serial() == serial ? time(cell) : std::optional<Duration>();
    };
  };
  const Cell* pick = least(cells, predicted);
  const Cell* best = least(cells, truth);
  if (pick == nullptr || best == nullptr) return std::nullopt;
  Decision decision;
  decision.label = fmt::format("{}: {}, best {}", label, cell_of(pick->what), cell_of(best->what));
  decision.noise = noise_of(cells);
  if (!pick->again.empty()) {
    decision.regret = over(pick->truth(), best->truth());
  } else if (pick->first && best->first) {
    decision.regret = over(*pick->first, *best->first);
  } else {
    return std::nullopt;
  }
  const Cell* overlapped = least(cells, among(false, truth));
  const Cell* serial = least(cells, among(true, truth));
  if (overlapped != nullptr && serial != nullptr) {
    const double gain = over(serial->truth(), overlapped->truth());
    if (std::abs(gain) > kVerdictMargin) decision.verdict_right = pick->serial() == (gain < 0);
  }
  return decision;
}

/// What a rule says that a cell takes; none where it does not speak of it.
using CellRule =
    std::function<std::optional<Duration>(Predictor&, const Case&, std::int64_t speed)>;

std::optional<Duration> by_model(Predictor& predictor, const Case& what, std::int64_t speed) {
  const auto predicted = predictor.predict(what, {}, speed);
  if (!predicted) return std::nullopt;
  return predicted->worst();
}

/// The pick of those who do not search: the least of one cell.
std::optional<Duration> always_eight_chunks(Predictor&, const Case& what, std::int64_t) {
  const bool taken = what.figure == "D" && what.schedule == "chunked" &&
                     what.transport == "copy_engine" && what.chunks == 8;
  return taken ? std::optional(Duration()) : std::nullopt;
}

/// The textbook's: n equal pieces of the product and of the communication alone, whatever chunking does to them.
std::optional<Duration> equal_pieces(Predictor& predictor, const Case& what, std::int64_t speed) {
  const auto alone = [&](const char* figure) {
    Case part = what;
    part.figure = figure;
    return by_model(predictor, part, speed);
  };
  const auto product = alone("A"), moved = alone("B");
  if (!product || !moved) return std::nullopt;
  if (what.figure == "C") return *product + *moved;
  const std::int64_t pieces = std::max(1, what.chunks.value_or(1));
  const auto piece = [&](Duration whole) { return Duration::from_ps(whole.ps() / pieces); };
  return piece(*product) + std::max(piece(*product), piece(*moved)) * (pieces - 1) + piece(*moved);
}

class BoundaryDecisions final : public DecisionTableRow {
 public:
  BoundaryDecisions(DecisionClaim claim, std::string suite, std::string library,
                    CellRule rule = by_model)
      : claim_(std::move(claim)),
        suite_(std::move(suite)),
        library_(std::move(library)),
        rule_(std::move(rule)) {}

  DecisionClaim claim() const override { return claim_; }
  bool takes(const Observation& seen) const override {
    const Case& what = seen.what();
    return !seen.published && of_suite(what.suite) && what.library == library_ && what.shape &&
           (what.figure == "C" || what.figure == "D");
  }
  std::vector<Decision> decide(const Knowledge& knowledge,
                               const std::vector<Observation>& asked) const override {
    std::vector<Decision> decisions;
    if (knowledge.machine == nullptr) return decisions;
    Predictor predictor(*knowledge.machine, knowledge.profile, frames_of(knowledge.samples));
    const int boost = highest_clock(knowledge.samples);
    std::map<std::string, std::vector<Observation>> cases;
    for (const Observation& seen : asked) cases[case_of(seen.what())].push_back(seen);
    for (const auto& [label, seen] : cases) {
      if (const auto decision = judge(label, cells_of(seen, boost, predictor)))
        decisions.push_back(*decision);
    }
    return decisions;
  }

 private:
  /// A suite of this name, or one that asks the same of other shapes: peer-decision-families.
  [[nodiscard]] bool of_suite(const std::string& name) const {
    return name == suite_ || name.starts_with(suite_ + "-");
  }

  // The clock is one for all cells of a case, so that no cell's own measurement is known.
  Cells cells_of(const std::vector<Observation>& seen, int boost, Predictor& predictor) const {
    std::map<std::string, Cell> cells;
    std::vector<std::int64_t> speeds;
    for (const Observation& one : seen) {
      Cell& cell = cells[cell_of(one.what())];
      if (one.what().pass) {
        cell.again.push_back(one.time());
      } else {
        cell.first = one.time();
        speeds.push_back(speed_permille(*one.sample, boost));
      }
      cell.what = one.what();
    }
    std::sort(speeds.begin(), speeds.end());
    const std::int64_t speed = speeds.empty() ? 1000 : speeds[speeds.size() / 2];
    Cells all;
    for (auto& [name, cell] : cells) {
      cell.predicted = rule_(predictor, cell.what, speed);
      all.push_back(std::move(cell));
    }
    return all;
  }

  DecisionClaim claim_;
  std::string suite_, library_;
  CellRule rule_;
};

}  // namespace

void add_boundary_decisions(DecisionRows& rows) {
  rows.push_back(std::make_unique<BoundaryDecisions>(DecisionClaim{.name = "host link, our kernels",
                                                                   .within_1pct = 0.90,
                                                                   .regret_mean = 0.005,
                                                                   .regret_p95 = 0.02,
                                                                   .regret_max = 0.06},
                                                     "decision", "weft"));
  rows.push_back(
      std::make_unique<BoundaryDecisions>(DecisionClaim{.name = "host link, cuBLASLt chunks",
                                                        .within_1pct = 0.80,
                                                        .regret_mean = 0.01,
                                                        .regret_p95 = 0.04,
                                                        .regret_max = 0.06},
                                          "decision", "cublaslt"));
  for (const auto& [library, name] : {std::pair{"weft", "NVLink, our kernels"},
                                      std::pair{"cublaslt", "NVLink, cuBLASLt chunks"}}) {
    rows.push_back(std::make_unique<BoundaryDecisions>(DecisionClaim{.name = name,
                                                                     .within_1pct = 0.90,
                                                                     .regret_mean = 0.005,
                                                                     .regret_p95 = {},
                                                                     .regret_max = 0.06},
                                                       "peer-decision", library));
  }
  const auto baseline = [&rows](std::string name, const char* library, CellRule rule) {
    DecisionClaim claim{.name = std::move(name),
                        .within_1pct = {},
                        .regret_mean = {},
                        .regret_p95 = {},
                        .regret_max = {}};
    claim.baseline = true;
    rows.push_back(std::make_unique<BoundaryDecisions>(std::move(claim), "decision", library,
                                                       std::move(rule)));
  };
  for (const auto& [library, name] :
       {std::pair{"weft", "our kernels"}, std::pair{"cublaslt", "cuBLASLt chunks"}}) {
    baseline(fmt::format("baseline, {}: always 8 chunks by copy engine", name), library,
             always_eight_chunks);
    baseline(fmt::format("baseline, {}: equal pieces of A and B", name), library, equal_pieces);
  }
}

}  // namespace weft::calibration
