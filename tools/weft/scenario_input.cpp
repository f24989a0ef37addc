// SPDX-License-Identifier: Apache-2.0
// A scenario as the command line changes it.
#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/planner/read_scenario.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {
namespace {

const model::Schedule& schedule_named(const std::string& name) {
  const model::Schedule* schedule = model::find_schedule(name);
  if (schedule != nullptr) return *schedule;
  std::vector<std::string_view> names;
  for (const model::Schedule* each : model::all_schedules()) names.push_back(each->info().name);
  const auto nearest = nearest_name(name, names);
  throw UsageError(
      nearest ? fmt::format("there is no schedule \"{}\" (did you mean \"{}\"?)", name, *nearest)
              : fmt::format("there is no schedule \"{}\" (schedules: {})", name,
                            fmt::join(names, ", ")));
}

void pin_knobs(const std::vector<std::string>& texts, const model::Schedule& schedule,
               model::Knobs& knobs) {
  model::Knobs pinned;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--knob wants name=value, not \"{}\"", text));
    pinned.set(text.substr(0, equals),
               model::parse_knob(std::string_view(text).substr(equals + 1)));
  }
  const std::vector<std::string> faults = model::faults_of(pinned, schedule.info().knobs);
  if (!faults.empty()) throw UsageError(fmt::format("{}", fmt::join(faults, "\n      ")));
  for (const auto& [name, value] : pinned.values()) knobs.set(name, value);
}

}  // namespace

model::Scenario load_scenario(const std::string& file, const Pinned& pinned,
                              const Context& context) {
  model::Scenario scenario = model::read_scenario(file, context.search);
  auto* boundary = std::get_if<model::BoundaryScenario>(&scenario.what);
  auto* whole = std::get_if<model::ModelScenario>(&scenario.what);
  if (pinned.schedule) {
    const model::Schedule& schedule = schedule_named(*pinned.schedule);
    if (boundary != nullptr) {
      if (boundary->schedule != pinned.schedule)
        boundary->knobs = model::Knobs(schedule.info().knobs);
      boundary->schedule = pinned.schedule;
    } else if (whole != nullptr) {
      whole->schedules = {*pinned.schedule};
    } else {
      throw UsageError("a pipeline has no schedule to choose");
    }
  }
  if (!pinned.knobs.empty()) {
    if (boundary == nullptr || !boundary->schedule) {
      throw UsageError("--knob belongs to the schedule of a boundary: name it with --schedule");
    }
    pin_knobs(pinned.knobs, schedule_named(*boundary->schedule), boundary->knobs);
  }
  if (pinned.layout) {
    if (whole == nullptr) throw UsageError("--layout is for scenarios of a whole model");
    std::vector<std::string> faults;
    whole->layout = model::parse_layout(*pinned.layout, faults);
    if (!faults.empty()) throw UsageError(fmt::format("--layout: {}", fmt::join(faults, "; ")));
  }
  if (pinned.fidelity) {
    if (*pinned.fidelity == "ideal") {
      scenario.fidelity = sim::Fidelity::ideal;
    } else if (*pinned.fidelity == "alpha_beta") {
      scenario.fidelity = sim::Fidelity::alpha_beta;
    } else if (*pinned.fidelity == "contended") {
      scenario.fidelity = sim::Fidelity::contended;
    } else {
      throw UsageError(fmt::format("there is no fidelity \"{}\" (ideal, alpha_beta, contended)",
                                   *pinned.fidelity));
    }
  }
  if (pinned.cost_model) {
    std::vector<std::string_view> names;
    for (const model::CostModel each : model::every_cost_model) {
      names.push_back(name_of(each));
      if (name_of(each) == *pinned.cost_model) scenario.cost_model = each;
    }
    if (name_of(scenario.cost_model) != *pinned.cost_model) {
      throw UsageError(fmt::format("there is no cost model \"{}\" ({})", *pinned.cost_model,
                                   fmt::join(names, ", ")));
    }
  }
  return scenario;
}

}  // namespace weft::tool
