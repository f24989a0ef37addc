// SPDX-License-Identifier: Apache-2.0
#include "models/planner/plan.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "models/import/hf_config.hpp"
#include "models/planner/attribution.hpp"
#include "models/planner/error_band.hpp"
#include "models/planner/ground.hpp"
#include "models/planner/reason.hpp"
#include "models/profile/json.hpp"
#include "models/schedules/registry.hpp"
#include "models/workloads/figures.hpp"
#include "sim/controls.hpp"
#include "sim/units/check.hpp"
#include "sim/units/format.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {
namespace {

// Progress of one plan over all of its searches.
class Searcher {
 public:
  Searcher(const Scenario& scenario, const PlanOptions& options)
      : effects_(sim::effects_of(scenario.fidelity)),
        options_(options),
        unlike_(unlike_a_run(scenario)) {}

  const sim::Effects& effects() const { return effects_; }

  BoundaryPlan plan(const Boundary& boundary, const Site& site,
                    const std::vector<std::string>& schedules) const {
    SearchOptions search_options = options_.search;
    search_options.schedules = schedules;
    const BoundarySearch found = search(boundary, site, effects_, search_options);
    BoundaryPlan result;
    result.boundary = boundary;
    result.pick = found.best.front().choice;
    result.overlaps = found.best.front().overlaps;
    result.best = found.best;
    result.serial = found.serial.figures;
    result.count = found.count;
    result.illegal = found.illegal;
    result.deadlocks = found.deadlocks;
    finish(result, site);
    std::optional<BoundaryFigures> rival;
    const std::optional<Candidate>& other = found.best_overlapping;
    if (!result.overlaps && other) {
      rival =
          BoundaryFigures{boundary.name, other->choice.schedule->info().name, other->choice.knobs,
                          evaluate(boundary, other->choice, site, effects_)};
    }
    result.reason = reason_for(found, result.figures.figures, rival);
    for (const NominationCount& each : found.nominations) {
      if (each.considered == each.taken) continue;
      result.reason +=
          fmt::format("; {} put {} of {} points of {} forward, and expects {} of its favourite",
                      each.predictor, each.taken, each.considered, each.schedule, each.expected);
    }
    return result;
  }

  BoundaryPlan fixed(const Boundary& boundary, const Site& site,
                     const ScheduleChoice& choice) const {
    BoundaryPlan result;
    result.boundary = boundary;
    result.pick = choice;
    result.overlaps = choice.schedule->overlaps(boundary, choice.knobs, site);
    result.count = {1, 1, 0, 0};
    finish(result, site);
    result.best = {{choice, result.figures.figures, result.overlaps}};
    result.serial = yardsticks(boundary, site, effects_);
    result.serial.overlapped = result.serial.serial;
    result.reason = "as the scenario asks";
    return result;
  }

 private:
  void finish(BoundaryPlan& result, const Site& site) const {
    result.figures = {result.boundary.name, result.pick.schedule->info().name, result.pick.knobs,
                      evaluate(result.boundary, result.pick, site, effects_)};
    result.band = band_of(result.boundary, result.pick, site, unlike_);
  }

  sim::Effects effects_;
  const PlanOptions& options_;
  std::vector<std::string> unlike_;  ///< in what the scenario is unlike any run
};

// The overrides that concern a replica of `ranks` ranks: a slow rank beyond it, of `gpus`, slows another replica.
std::vector<topology::Override> overrides_of(const Scenario& scenario, int ranks, int gpus) {
  std::vector<topology::Override> result;
  for (const topology::Override& change : scenario.overrides) {
    const bool names_rank =
        change.part.starts_with("rank") && change.part.find('.') == std::string::npos;
    const int rank = names_rank ? std::atoi(change.part.c_str() + 4) : 0;
    if (rank < ranks || rank >= gpus) result.push_back(change);
  }
  return result;
}

// The site of a layout; what its parts refuse is an error of the scenario.
std::shared_ptr<const Site> site_of(const Ground& ground, RankOrder order, int ranks, int gpus,
                                    const Scenario& scenario) {
  try {
    return std::make_shared<Site>(
        make_site(ground.machine, ground.profile, places_of(ground.machine, order, ranks, gpus),
                  overrides_of(scenario, ranks, gpus), scenario.cost_model));
  } catch (const topology::BuildError& error) {
    std::vector<config::ConfigError> errors;
    for (const std::string& fault : error.faults())
      errors.push_back(
          {scenario.file, 0, 0, scenario.overrides.empty() ? "" : "/overrides", fault, ""});
    throw config::ConfigErrors(std::move(errors));
  }
}

// ---- one boundary ------------------------------------------------------------------------------------------

void plan_boundary(const BoundaryScenario& wanted, const Scenario& scenario,
                   const config::SearchPath& search_path, const PlanOptions& options, Plan& plan) {
  const Ground ground = read_ground(wanted.machine, wanted.profile, search_path);
  plan.machine_name = ground.machine.name;
  plan.assumed = ground.assumed;
  const Boundary boundary = boundary_of(wanted, ground, scenario.file);
  const std::shared_ptr<const Site> site =
      site_of(ground, wanted.order, wanted.ranks, wanted.ranks, scenario);
  LayoutPlan layout;
  layout.layout.tp = wanted.ranks;
  layout.order = wanted.order;
  layout.nodes = site->group.nodes;
  layout.site = site;
  const Searcher searcher(scenario, options);
  if (wanted.schedule) {
    const Schedule* schedule = find_schedule(*wanted.schedule);
    const ScheduleChoice choice{schedule, wanted.knobs};
    const std::vector<std::string> refusals = schedule->refusals(boundary, choice.knobs, *site);
    std::vector<config::ConfigError> errors;
    for (const std::string& refusal : refusals) {
      errors.push_back({scenario.file, 0, 0, "/boundary/schedule",
                        fmt::format("{}: {}", *wanted.schedule, refusal), ""});
    }
    if (!errors.empty()) throw config::ConfigErrors(std::move(errors));
    layout.boundaries.push_back(searcher.fixed(boundary, *site, choice));
  } else {
    layout.boundaries.push_back(searcher.plan(boundary, *site, options.search.schedules));
  }
  const BoundaryPlan& planned = layout.boundaries.front();
  plan.count = planned.count;
  layout.step = planned.figures.figures.overlapped;
  layout.serial_step = planned.figures.figures.serial;
  plan.band = planned.band;
  plan.layouts.push_back(std::move(layout));
}

// Of a widened MLP: few enough to keep its ratio, and an even share for whatever ranks there are.
constexpr std::int64_t columns_a_rank = 64;

// ---- a model -----------------------------------------------------------------------------------------------

// The same boundary under another name has the same plan.
Boundary unnamed(Boundary boundary) {
  boundary.name.clear();
  boundary.count_per_layer = 1;
  boundary.layers = 1;
  return boundary;
}

// Over several nodes: what rings over all ranks would cost instead of the library's choice.
void note_flat_collectives(LayoutPlan& layout, const sim::Effects& effects) {
  if (layout.nodes < 2) return;
  const Schedule* serial = find_schedule("serial");
  ScheduleChoice flat{serial, Knobs(serial->info().knobs)};
  flat.knobs.set("algorithm", "ring");
  Duration chosen, ring;
  for (const BoundaryPlan& boundary : layout.boundaries) {
    if (!serial->refusals(boundary.boundary, flat.knobs, *layout.site).empty()) continue;
    chosen += boundary.serial.overlapped * boundary.occurrences;
    ring += overlapped_only(boundary.boundary, flat, *layout.site, effects).overlapped *
            boundary.occurrences;
  }
  if (ring > chosen) {
    layout.notes.push_back(fmt::format(
        "flat rings over all {} ranks would add {} to the {} of the serial boundaries ({:.2f}x)",
        layout.layout.tp, ring - chosen, chosen, ratio(ring, chosen)));
  }
}

LayerPlan plan_layer(const Layer& layer, LayoutPlan& layout, const Searcher& searcher,
                     const std::vector<std::string>& schedules, SearchCount& count) {
  LayerPlan result;
  result.name = layer.name;
  result.count = layer.count;
  std::vector<ScheduleChoice> picks;
  for (const Boundary* boundary : boundaries_of(layer)) {
    const Boundary key = unnamed(*boundary);
    auto known =
        std::find_if(layout.boundaries.begin(), layout.boundaries.end(),
                     [&](const BoundaryPlan& each) { return unnamed(each.boundary) == key; });
    if (known == layout.boundaries.end()) {
      layout.boundaries.push_back(searcher.plan(*boundary, *layout.site, schedules));
      known = layout.boundaries.end() - 1;
      known->occurrences = 0;
      count += known->count;
    }
    known->occurrences += layer.count;
    result.boundaries.push_back(static_cast<std::size_t>(known - layout.boundaries.begin()));
    picks.push_back(known->pick);
    result.sum_of_gains += known->serial.overlapped - known->figures.figures.overlapped;
  }
  result.picks = evaluate(layer, picks, *layout.site, searcher.effects());
  result.serial = result.picks;
  result.serial.overlapped = result.picks.serial;
  result.picks_win = result.picks.overlapped <= result.picks.serial;
  return result;
}

std::vector<int> divisors(int n) {
  std::vector<int> result;
  for (int d = 1; d <= n; ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

struct LayoutPoint {
  ParallelLayout layout;
  RankOrder order = RankOrder::packed;
};

std::vector<LayoutPoint> layouts_of(const ModelScenario& wanted,
                                    const topology::MachineSpec& machine) {
  std::vector<LayoutPoint> points;
  const std::int64_t per_node = topology::devices_per_node(machine);
  for (const int tp : wanted.layout.tp.empty() ? divisors(wanted.ranks) : wanted.layout.tp) {
    const std::vector<bool> both = {false, true};
    for (const bool sequence_parallel :
         wanted.layout.sequence_parallel.empty() ? both : wanted.layout.sequence_parallel) {
      if (tp == 1 && sequence_parallel && wanted.layout.search) continue;
      // Orders differ only where there are several nodes and a rank has a neighbour.
      std::vector<RankOrder> orders = wanted.layout.orders;
      if (orders.empty()) {
        orders = {RankOrder::packed};
        if (tp > 1 && wanted.ranks > per_node) orders.push_back(RankOrder::scattered);
      }
      for (const RankOrder order : orders) {
        points.push_back({{tp, sequence_parallel, std::max(1, wanted.ranks / tp)}, order});
      }
    }
  }
  return points;
}

void rate(LayoutPlan& layout, const WorkloadSpec& spec, const ModelConfig& model,
          const Profile& profile) {
  for (const LayerPlan& layer : layout.layers) {
    layout.step += layer.time() * layer.count;
    layout.serial_step += layer.serial.overlapped * layer.count;
  }
  if (layout.step <= Duration()) return;
  const StepFigures figures =
      figures_of(model, layout.layout, spec, layout.step,
                 profile.matrix_rate(spec.formats.matmul_input.element).value);
  layout.tokens_per_second_per_gpu = figures.tokens_per_second_and_gpu;
  layout.mfu = figures.mfu;
}

void plan_model(const ModelScenario& wanted, const Scenario& scenario,
                const config::SearchPath& search_path, const PlanOptions& options, Plan& plan) {
  const Ground ground = read_ground(wanted.machine, wanted.profile, search_path);
  ImportedModel imported = read_hf_config(wanted.model);
  if (wanted.hidden) {
    imported.model = at_width(imported.model, *wanted.hidden, columns_a_rank * wanted.ranks);
  }
  plan.machine_name = ground.machine.name;
  plan.model_name = imported.model.name;
  plan.notes = imported.notes;
  plan.assumed = ground.assumed;
  check_ranks(ground, wanted.ranks, "/model/ranks", scenario.file);
  const Searcher searcher(scenario, options);
  for (const LayoutPoint& point : layouts_of(wanted, ground.machine)) {
    std::vector<std::string> reasons = layout_problems(imported.model, point.layout, wanted.work);
    if (point.layout.tp > wanted.ranks) {
      reasons.push_back(
          fmt::format("tp={} is more than the {} ranks", point.layout.tp, wanted.ranks));
    } else if (auto why =
                   uneven(places_of(ground.machine, point.order, point.layout.tp, wanted.ranks))) {
      reasons.push_back(std::move(*why));
    }
    MemoryUse memory;
    Workload workload;
    if (reasons.empty()) {
      workload = build_workload(imported.model, point.layout, wanted.work);
      memory = memory_of(imported.model, point.layout, wanted.work, workload, wanted.optimizer);
      const Bytes capacity = ground.machine.device.memory_size.value;
      if (total_of(memory) > capacity) {
        reasons.push_back(fmt::format("needs {} of memory on each GPU and has {}: {} short",
                                      total_of(memory), capacity, total_of(memory) - capacity));
      }
    }
    if (!reasons.empty()) {
      // Another order of the ranks does not change what divides or fits.
      const bool said = !plan.refused.empty() && plan.refused.back().layout == point.layout;
      if (!said) plan.refused.push_back({point.layout, point.order, std::move(reasons)});
      continue;
    }
    LayoutPlan layout;
    layout.layout = point.layout;
    layout.order = point.order;
    layout.memory = memory;
    layout.site = site_of(ground, point.order, point.layout.tp, wanted.ranks, scenario);
    layout.nodes = layout.site->group.nodes;
    layout.workload = std::move(workload);
    for (const Layer& layer : layout.workload.layers) {
      layout.layers.push_back(plan_layer(layer, layout, searcher, wanted.schedules, plan.count));
      const LayerPlan& planned = layout.layers.back();
      if (!planned.picks_win) {
        layout.notes.push_back(fmt::format(
            "{}: each pick gains alone, {} in all, but the layer of the picks takes {} and the "
            "serial one {}: run it serially",
            planned.name, planned.sum_of_gains, planned.picks.overlapped,
            planned.serial.overlapped));
      }
    }
    note_flat_collectives(layout, searcher.effects());
    rate(layout, wanted.work, imported.model, ground.profile);
    plan.layouts.push_back(std::move(layout));
  }
  std::stable_sort(plan.layouts.begin(), plan.layouts.end(),
                   [&](const LayoutPlan& a, const LayoutPlan& b) {
                     return wanted.objective == Objective::latency
                                ? a.step < b.step
                                : a.tokens_per_second_per_gpu > b.tokens_per_second_per_gpu;
                   });
  if (plan.layouts.empty()) {
    plan.band.source = {SourceKind::assumed, "nothing fits"};
    return;
  }
  std::vector<ErrorBand> bands{layer_band(ground.profile, wanted.work.phase,
                                          wanted.work.formats.matmul_input.element,
                                          unlike_a_run(scenario))};
  for (const BoundaryPlan& each : plan.layouts.front().boundaries) bands.push_back(each.band);
  plan.band = span_of(bands);
}

}  // namespace

Plan make_plan(const Scenario& scenario, const config::SearchPath& search,
               const PlanOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  Plan plan;
  plan.scenario = scenario;
  if (const auto* boundary = std::get_if<BoundaryScenario>(&scenario.what)) {
    plan_boundary(*boundary, scenario, search, options, plan);
  } else if (const auto* whole = std::get_if<ModelScenario>(&scenario.what)) {
    plan_model(*whole, scenario, search, options, plan);
  } else {
    throw config::ConfigErrors(config::ConfigError{
        scenario.file, 0, 0, "/pipeline",
        "a pipeline's durations are given: there is nothing to plan", "weft simulate runs it"});
  }
  if (options.explain && !plan.layouts.empty()) {
    LayoutPlan& best = plan.layouts.front();
    for (BoundaryPlan& boundary : best.boundaries)
      boundary.attribution = attribute(boundary.boundary, boundary.pick, *best.site,
                                       sim::effects_of(scenario.fidelity));
  }
  plan.config = effective_config(scenario, search);
  plan.elapsed_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
  return plan;
}

PlanView view_of(const Plan& plan, const LayoutPlan& layout) {
  PlanView view;
  view.machine = layout.site->built.machine;
  if (layout.layers.empty()) {
    const BoundaryPlan& boundary = layout.boundaries.front();
    view.program = boundary_program(boundary.boundary, boundary.pick, *layout.site);
    view.figures = boundary.figures.figures;
    view.attribution = boundary.attribution;
    view.what =
        fmt::format("{} on {} ranks of {}, {} {}", boundary.boundary.name, layout.layout.tp,
                    plan.machine_name, boundary.figures.schedule, boundary.figures.knobs.to_text());
    return view;
  }
  const auto most =
      std::max_element(layout.layers.begin(), layout.layers.end(),
                       [](const LayerPlan& a, const LayerPlan& b) { return a.count < b.count; });
  const auto index = static_cast<std::size_t>(most - layout.layers.begin());
  const Schedule* serial = find_schedule("serial");
  const std::vector<ScheduleChoice> unfused(most->boundaries.size(),
                                            {serial, Knobs(serial->info().knobs)});
  std::vector<ScheduleChoice> picks;
  for (const std::size_t boundary : most->boundaries)
    picks.push_back(most->picks_win ? layout.boundaries[boundary].pick : unfused.front());
  const Layer& layer = layout.workload.layers[index];
  view.program = layer_program(layer, picks, *layout.site);
  view.compute = sim::without_communication(layer_program(layer, unfused, *layout.site));
  view.figures = most->picks_win ? most->picks : most->serial;
  view.what = fmt::format("one {} of {} ({} of them), {} on {}", most->name, plan.model_name,
                          most->count, to_text(layout.layout), plan.machine_name);
  return view;
}

}  // namespace weft::model
