// SPDX-License-Identifier: Apache-2.0
#include "models/planner/comparison.hpp"

#include <fmt/format.h>

#include "configs/reader/error.hpp"
#include "models/planner/error_band.hpp"
#include "models/planner/ground.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"

namespace weft::model {
namespace {

const Schedule& named(const std::string& name, const Scenario& scenario) {
  if (const Schedule* schedule = find_schedule(name)) return *schedule;
  std::vector<std::string_view> names;
  for (const Schedule* each : all_schedules()) names.push_back(each->info().name);
  const auto nearest = nearest_name(name, names);
  throw config::ConfigErrors(config::ConfigError{
      scenario.file, 0, 0, "", fmt::format("there is no schedule \"{}\"", name),
      nearest ? fmt::format("did you mean \"{}\"?", *nearest) : "weft schedules lists them"});
}

// The rule that the default knobs break, or else the first that any break.
std::string refusal_of(const Schedule& schedule, const Boundary& boundary, const Site& site,
                       const Knobs& fixed) {
  for (const Knobs& knobs : all_combinations(schedule.info().knobs, fixed)) {
    const auto broken = schedule.refusals(boundary, knobs, site);
    if (!broken.empty()) return broken.front();
  }
  return "no knobs of it are legal here";
}

}  // namespace

Comparison compare(const Scenario& scenario, const std::vector<std::string>& schedules,
                   const config::SearchPath& search_path, const SearchOptions& options) {
  const auto* wanted = std::get_if<BoundaryScenario>(&scenario.what);
  if (wanted == nullptr) {
    throw config::ConfigErrors(config::ConfigError{
        scenario.file, 0, 0, "/boundary", "schedules are compared on one boundary",
        "a scenario with /boundary, as configs/scenarios/ag-gemm-exhaustive.json"});
  }
  const Ground ground = read_ground(wanted->machine, wanted->profile, search_path);
  Comparison comparison;
  comparison.machine_name = ground.machine.name;
  comparison.boundary = boundary_of(*wanted, ground, scenario.file);
  const auto places = places_of(ground.machine, wanted->order, wanted->ranks, wanted->ranks);
  comparison.site = std::make_shared<Site>(
      make_site(ground.machine, ground.profile, places, scenario.overrides, scenario.cost_model));
  const sim::Effects effects = sim::effects_of(scenario.fidelity);
  comparison.yardsticks = yardsticks(comparison.boundary, *comparison.site, effects);
  for (const std::string& name : schedules) {
    const Schedule& schedule = named(name, scenario);
    SearchOptions only = options;
    only.schedules = {name};
    only.fixed = wanted->knobs;
    const BoundarySearch found = search(comparison.boundary, *comparison.site, effects, only);
    Compared& result = comparison.schedules.emplace_back();
    result.schedule = name;
    for (const Candidate& each : found.best) {
      if (each.choice.schedule != &schedule) continue;
      result.choice = each.choice;
      result.figures = evaluate(comparison.boundary, each.choice, *comparison.site, effects);
      result.band =
          band_of(comparison.boundary, each.choice, *comparison.site, unlike_a_run(scenario));
      break;
    }
    if (!result.choice)
      result.refusal = refusal_of(schedule, comparison.boundary, *comparison.site, only.fixed);
  }
  return comparison;
}

}  // namespace weft::model
