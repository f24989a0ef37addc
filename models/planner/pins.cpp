// SPDX-License-Identifier: Apache-2.0
#include "models/planner/pins.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/planner/read_scenario.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"

namespace weft::model {
namespace {

const Schedule& schedule_named(const std::string& name) {
  const Schedule* schedule = find_schedule(name);
  if (schedule != nullptr) return *schedule;
  std::vector<std::string_view> names;
  for (const Schedule* each : all_schedules()) names.push_back(each->info().name);
  const auto nearest = nearest_name(name, names);
  throw PinError(
      nearest ? fmt::format("there is no schedule \"{}\" (did you mean \"{}\"?)", name, *nearest)
              : fmt::format("there is no schedule \"{}\" (schedules: {})", name,
                            fmt::join(names, ", ")));
}

void pin_knobs(const std::vector<std::string>& texts, const Schedule& schedule, Knobs& knobs) {
  Knobs pinned;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw PinError(fmt::format("--knob wants name=value, not \"{}\"", text));
    const std::string name = text.substr(0, equals);
    if (std::ranges::find(pinned.values(), name, [](const auto& each) { return each.first; }) !=
        pinned.values().end())
      throw PinError(fmt::format("--knob {} is given twice", name));
    pinned.set(name, parse_knob(std::string_view(text).substr(equals + 1)));
  }
  const std::vector<std::string> faults = faults_of(pinned, schedule.info().knobs);
  if (!faults.empty()) throw PinError(fmt::format("{}", fmt::join(faults, "\n      ")));
  for (const auto& [name, value] : pinned.values()) knobs.set(name, value);
}

}  // namespace

void apply(const Pins& pinned, Scenario& scenario) {
  auto* boundary = std::get_if<BoundaryScenario>(&scenario.what);
  auto* whole = std::get_if<ModelScenario>(&scenario.what);
  if (pinned.schedule) {
    const Schedule& schedule = schedule_named(*pinned.schedule);
    if (boundary != nullptr) {
      if (boundary->schedule != pinned.schedule) boundary->knobs = Knobs(schedule.info().knobs);
      boundary->schedule = pinned.schedule;
    } else if (whole != nullptr) {
      whole->schedules = {*pinned.schedule};
    } else {
      throw PinError("a pipeline has no schedule to choose");
    }
  }
  if (!pinned.knobs.empty()) {
    if (boundary == nullptr) {
      throw PinError(fmt::format("--knob pins what one boundary's schedule does, and this is {}",
                                 whole != nullptr ? "a whole model" : "a pipeline"));
    }
    if (!boundary->schedule) {
      throw PinError("--knob belongs to the schedule of a boundary: name it with --schedule");
    }
    pin_knobs(pinned.knobs, schedule_named(*boundary->schedule), boundary->knobs);
  }
  if (pinned.layout) {
    if (whole == nullptr) throw PinError("--layout is for scenarios of a whole model");
    std::vector<std::string> faults;
    whole->layout = parse_layout(*pinned.layout, faults);
    if (!faults.empty()) throw PinError(fmt::format("--layout: {}", fmt::join(faults, "; ")));
  }
  if (pinned.fidelity) {
    if (*pinned.fidelity == "ideal") {
      scenario.fidelity = sim::Fidelity::ideal;
    } else if (*pinned.fidelity == "alpha_beta") {
      scenario.fidelity = sim::Fidelity::alpha_beta;
    } else if (*pinned.fidelity == "contended") {
      scenario.fidelity = sim::Fidelity::contended;
    } else {
      throw PinError(fmt::format("there is no fidelity \"{}\" (ideal, alpha_beta, contended)",
                                 *pinned.fidelity));
    }
  }
  if (pinned.cost_model) {
    std::vector<std::string_view> names;
    for (const CostModel each : every_cost_model) {
      names.push_back(name_of(each));
      if (name_of(each) == *pinned.cost_model) scenario.cost_model = each;
    }
    if (name_of(scenario.cost_model) != *pinned.cost_model) {
      throw PinError(fmt::format("there is no cost model \"{}\" ({})", *pinned.cost_model,
                                 fmt::join(names, ", ")));
    }
  }
}

config::Value to_value(const Pins& pins) {
  config::Value object = config::Value::object();
  const auto set = [&](const char* name, const std::optional<std::string>& pin) {
    if (pin) object.set(name, *pin);
  };
  set("schedule", pins.schedule);
  if (!pins.knobs.empty()) object.set("knobs", fmt::format("{}", fmt::join(pins.knobs, " ")));
  set("layout", pins.layout);
  set("fidelity", pins.fidelity);
  set("cost_model", pins.cost_model);
  return object;
}

Pins read_pins(config::StrictObject& object) {
  Pins pins;
  pins.schedule = object.optional<std::string>({"schedule", "as --schedule"});
  std::istringstream knobs(object.optional<std::string>({"knobs", "as --knob, with spaces between"})
                               .value_or(std::string()));
  pins.knobs.assign(std::istream_iterator<std::string>(knobs), {});
  pins.layout = object.optional<std::string>({"layout", "as --layout"});
  pins.fidelity = object.optional<std::string>({"fidelity", "as --fidelity"});
  pins.cost_model = object.optional<std::string>({"cost_model", "as --cost-model"});
  return pins;
}

}  // namespace weft::model
