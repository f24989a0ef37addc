// SPDX-License-Identifier: Apache-2.0
#include "models/planner/break_even.hpp"

#include <fmt/format.h>

#include "configs/reader/error.hpp"
#include "models/planner/ground.hpp"

namespace weft::model {
namespace {

// Rows and features in steps of a tile and no further than a long prefill or the widest layer; ranks one by one power.
constexpr std::int64_t step_rows = 128;
constexpr std::int64_t most_tokens = 1 << 16;
constexpr std::int64_t step_hidden = 512;
constexpr std::int64_t most_hidden = 1 << 15;

struct Range {
  std::int64_t least, most, step;
};

std::int64_t& dimension(BoundaryScenario& boundary, BreakEvenAxis axis) {
  if (axis == BreakEvenAxis::tokens) return boundary.global.m;
  const bool reduces =
      boundary.kind == BoundaryKind::gemm_rs || boundary.kind == BoundaryKind::gemm_ar;
  return reduces ? boundary.global.n : boundary.global.k;
}

class Walk {
 public:
  Walk(const Scenario& scenario, BreakEvenAxis axis, const config::SearchPath& search_path,
       const PlanOptions& options)
      : scenario_(scenario), axis_(axis), search_path_(search_path), options_(options) {}

  Verdict at(std::int64_t value) const {
    Scenario changed = scenario_;
    auto& boundary = std::get<BoundaryScenario>(changed.what);
    boundary.schedule.reset();
    if (axis_ == BreakEvenAxis::tp) {
      boundary.ranks = static_cast<int>(value);
    } else {
      dimension(boundary, axis_) = value;
    }
    const Plan plan = make_plan(changed, search_path_, options_);
    const BoundaryPlan& pick = plan.layouts.front().boundaries.front();
    return {value, pick.figures.schedule != "serial", pick.figures.schedule, pick.serial.overlapped,
            pick.figures.figures.overlapped};
  }

  // Halves [before, after] on the grid until one step is between them.
  Flip narrow(Verdict before, Verdict after, std::int64_t step) const {
    while (after.value - before.value > step) {
      const std::int64_t middle = before.value + (after.value - before.value) / (2 * step) * step;
      if (middle == before.value) break;
      Verdict between = at(middle);
      (between.overlap == before.overlap ? before : after) = std::move(between);
    }
    return {std::move(before), std::move(after)};
  }

 private:
  const Scenario& scenario_;
  BreakEvenAxis axis_;
  const config::SearchPath& search_path_;
  const PlanOptions& options_;
};

}  // namespace

BreakEven break_even(const Scenario& scenario, BreakEvenAxis axis,
                     const config::SearchPath& search_path, const PlanOptions& options) {
  const auto* boundary = std::get_if<BoundaryScenario>(&scenario.what);
  if (boundary == nullptr) {
    throw config::ConfigErrors(config::ConfigError{
        scenario.file, 0, 0, "/boundary", "a break-even point is of one boundary",
        "a scenario with /boundary, as configs/scenarios/ag-gemm-exhaustive.json"});
  }
  const std::int64_t ranks = boundary->ranks;
  Range range{step_rows * ranks, most_tokens, step_rows * ranks};
  if (axis == BreakEvenAxis::hidden) range = {step_hidden, most_hidden, step_hidden};
  if (axis == BreakEvenAxis::tp) {
    const Ground ground = read_ground(boundary->machine, boundary->profile, search_path);
    range = {2, topology::devices_per_node(ground.machine),
             topology::devices_per_node(ground.machine)};
  }
  const Walk walk(scenario, axis, search_path, options);
  BreakEven result;
  result.axis = axis;
  for (std::int64_t value = range.least; value <= range.most; value *= 2)
    result.verdicts.push_back(walk.at(value));
  for (std::size_t i = 1; i < result.verdicts.size(); ++i) {
    if (result.verdicts[i].overlap == result.verdicts[i - 1].overlap) continue;
    result.flips.push_back(walk.narrow(result.verdicts[i - 1], result.verdicts[i], range.step));
  }
  return result;
}

}  // namespace weft::model
