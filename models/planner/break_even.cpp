// SPDX-License-Identifier: Apache-2.0
#include "models/planner/break_even.hpp"

#include <numeric>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/error.hpp"
#include "models/import/hf_config.hpp"
#include "models/planner/ground.hpp"
#include "models/schedules/schedule.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

// Rows from one for each rank, features in steps of a tile, and no further than a long prefill or the widest layer; ranks
// one by one power.
constexpr std::int64_t most_tokens = 1 << 16;
constexpr std::int64_t most_sequences = 1 << 12;  // that are decoded together
constexpr std::int64_t step_hidden = 512;
constexpr std::int64_t most_hidden = 1 << 15;

struct Range {
  std::int64_t least, most, step;
};

[[noreturn]] void refuse(const Scenario& scenario, const char* pointer, std::string what,
                         std::string hint) {
  throw config::ConfigErrors(
      config::ConfigError{scenario.file, 0, 0, pointer, std::move(what), std::move(hint)});
}

std::int64_t& dimension(BoundaryScenario& boundary, BreakEvenAxis axis) {
  if (axis == BreakEvenAxis::tokens) return boundary.global.m;
  const bool reduces =
      boundary.kind == BoundaryKind::gemm_rs || boundary.kind == BoundaryKind::gemm_ar;
  return reduces ? boundary.global.n : boundary.global.k;
}

void change(BoundaryScenario& boundary, BreakEvenAxis axis, std::int64_t value) {
  boundary.schedule.reset();
  if (axis == BreakEvenAxis::tp) {
    boundary.ranks = static_cast<int>(value);
  } else {
    dimension(boundary, axis) = value;
  }
}

// Tokens keep the length of their sequences where they make up whole ones, else they are one sequence.
void change(ModelScenario& model, BreakEvenAxis axis, std::int64_t value) {
  WorkloadSpec& work = model.work;
  if (axis == BreakEvenAxis::tp) {
    model.layout.tp = {static_cast<int>(value)};
  } else if (axis == BreakEvenAxis::hidden) {
    model.hidden = value;
  } else if (work.phase == Phase::decode) {
    work.sequences = value;
  } else if (value % work.new_tokens == 0) {
    work.sequences = value / work.new_tokens;
  } else {
    work.sequences = 1;
    work.new_tokens = value;
  }
}

// What the layers of a model run: picks where they win.
Verdict verdict_of(const LayoutPlan& layout) {
  Verdict verdict;
  std::set<std::string> names;
  for (const LayerPlan& layer : layout.layers) {
    for (const std::size_t index : layer.boundaries) {
      const ScheduleChoice& pick = layout.boundaries[index].pick;
      const bool overlap = layer.picks_win && layout.boundaries[index].overlaps;
      verdict.overlap = verdict.overlap || overlap;
      names.insert(layer.picks_win ? pick.schedule->info().name : std::string("serial"));
    }
  }
  if (names.size() > 1) names.erase("serial");
  if (names.empty()) names.insert("serial");  // one rank has nothing to overlap
  verdict.schedule = fmt::format("{}", fmt::join(names, ", "));
  verdict.serial = layout.serial_step;
  verdict.picked = layout.step;
  return verdict;
}

Verdict verdict_of(const BoundaryPlan& pick) {
  return {0, pick.overlaps, pick.figures.schedule, pick.serial.overlapped,
          pick.figures.figures.overlapped};
}

class Walk {
 public:
  Walk(Scenario scenario, BreakEvenAxis axis, const config::SearchPath& search_path,
       const PlanOptions& options, BreakEven& result)
      : scenario_(std::move(scenario)),
        axis_(axis),
        search_path_(search_path),
        options_(options),
        result_(result) {}

  // None where nothing can be planned, which is noted.
  std::optional<Verdict> at(std::int64_t value) {
    Scenario changed = scenario_;
    std::visit(
        [&](auto& what) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(what)>, PipelineScenario>)
            change(what, axis_, value);
        },
        changed.what);
    const Plan plan = make_plan(changed, search_path_, options_);
    if (plan.layouts.empty()) {
      result_.left_out.push_back(
          {value, plan.refused.empty()
                      ? std::string("no layout")
                      : fmt::format("{}", fmt::join(plan.refused.front().reasons, "; "))});
      return std::nullopt;
    }
    const LayoutPlan& layout = plan.layouts.front();
    Verdict verdict =
        layout.layers.empty() ? verdict_of(layout.boundaries.front()) : verdict_of(layout);
    verdict.value = value;
    return verdict;
  }

  // Halves [before, after] on the grid until one step is between them.
  Flip narrow(Verdict before, Verdict after, std::int64_t step) {
    while (after.value - before.value > step) {
      const std::int64_t middle = before.value + (after.value - before.value) / (2 * step) * step;
      if (middle == before.value) break;
      std::optional<Verdict> between = at(middle);
      if (!between) break;
      (between->overlap == before.overlap ? before : after) = std::move(*between);
    }
    return {std::move(before), std::move(after)};
  }

 private:
  const Scenario scenario_;
  BreakEvenAxis axis_;
  const config::SearchPath& search_path_;
  const PlanOptions& options_;
  BreakEven& result_;
};

Range range_of(const BoundaryScenario& boundary, BreakEvenAxis axis,
               const config::SearchPath& search_path) {
  const std::int64_t ranks = boundary.ranks;
  if (axis == BreakEvenAxis::tokens) return {ranks, most_tokens, ranks};
  if (axis == BreakEvenAxis::hidden) return {step_hidden, most_hidden, step_hidden};
  const Ground ground = read_ground(boundary.machine, boundary.profile, search_path);
  const std::int64_t devices = topology::devices_per_node(ground.machine);
  return {2, devices, devices};
}

Range range_of(const ModelScenario& model, BreakEvenAxis axis) {
  const std::int64_t ranks = model.layout.tp.front();
  if (axis == BreakEvenAxis::tp) return {2, model.ranks, model.ranks};
  if (axis == BreakEvenAxis::tokens)
    return {ranks, model.work.phase == Phase::decode ? most_sequences : most_tokens, ranks};
  // Every width has whole heads for each rank and each group of queries.
  const ModelConfig config = read_hf_config(model.model).model;
  const std::int64_t heads =
      config.heads == config.kv_heads ? ranks : std::lcm(ranks, config.kv_heads);
  const std::int64_t unit = config.heads / std::gcd(config.hidden, config.heads);
  const std::int64_t width = std::lcm(heads, unit) * config.hidden / config.heads;
  const std::int64_t step = width * divide_up(step_hidden, width);
  return {step, most_hidden, step};
}

}  // namespace

BreakEven break_even(const Scenario& scenario, BreakEvenAxis axis,
                     const config::SearchPath& search_path, const PlanOptions& options) {
  BreakEven result;
  result.axis = axis;
  Scenario walked = scenario;
  PlanOptions among = options;
  Range range{};
  if (const auto* boundary = std::get_if<BoundaryScenario>(&scenario.what)) {
    if (boundary->schedule) among.search.schedules = {*boundary->schedule};
    range = range_of(*boundary, axis, search_path);
  } else if (auto* model = std::get_if<ModelScenario>(&walked.what)) {
    const Plan plan = make_plan(scenario, search_path, options);
    if (plan.layouts.empty()) {
      refuse(scenario, "/model", "no layout of this model fits, so that there is none to walk in",
             "weft plan says what each is short of");
    }
    const LayoutPlan& pick = plan.layouts.front();
    result.layout = to_text(pick.layout);
    model->layout = {false, {pick.layout.tp}, {pick.layout.sequence_parallel}, {pick.order}};
    range = range_of(*model, axis);
  } else {
    refuse(scenario, "/pipeline",
           "a pipeline's durations are given: there is nothing to walk along",
           "a scenario with /boundary or /model");
  }
  Walk walk(std::move(walked), axis, search_path, among, result);
  for (std::int64_t value = range.least; value <= range.most; value *= 2) {
    if (axis == BreakEvenAxis::tp && range.most % value != 0) continue;  // no whole replicas
    if (auto verdict = walk.at(value)) result.verdicts.push_back(std::move(*verdict));
  }
  for (std::size_t i = 1; i < result.verdicts.size(); ++i) {
    if (result.verdicts[i].overlap == result.verdicts[i - 1].overlap) continue;
    result.flips.push_back(walk.narrow(result.verdicts[i - 1], result.verdicts[i], range.step));
  }
  return result;
}

}  // namespace weft::model
