// SPDX-License-Identifier: Apache-2.0
#include "models/planner/lock.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/document.hpp"
#include "configs/reader/strict_object.hpp"
#include "models/planner/read_scenario.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

using config::StrictObject;
using config::Value;

std::string layout_text(const LayoutPlan& layout) {
  return fmt::format("tp={}{}{}", layout.layout.tp, layout.layout.sequence_parallel ? " sp" : "",
                     layout.order == RankOrder::scattered ? " scattered" : "");
}

// Only their form is checked: a lock may name what its schedule no longer has.
Knobs read_knobs(StrictObject& object) {
  Knobs knobs;
  const Value* value = object.any({"knobs", "of the schedule"}, true);
  if (value == nullptr) return knobs;
  if (!value->is_object()) {
    object.error(std::string_view("knobs"), "expected an object", "{\"chunks\": 8}");
    return knobs;
  }
  const std::string pointer = object.origin("knobs").json_pointer;
  for (const config::Member& member : value->members()) {
    if (member.value.is_integer()) {
      knobs.set(member.key, member.value.as_integer());
    } else if (member.value.is_string()) {
      knobs.set(member.key, member.value.as_string());
    } else {
      object.error(config::Origin{member.value.place(), config::pointer_to(pointer, member.key)},
                   fmt::format("knob \"{}\" must be a count or a name", member.key));
    }
  }
  return knobs;
}

LockedPick read_pick(StrictObject& object) {
  LockedPick pick;
  pick.boundary = object.required<std::string>({"boundary", "its name"});
  pick.schedule = object.required<std::string>({"schedule", "that was picked"});
  pick.knobs = read_knobs(object);
  pick.overlapped = object.required<Duration>({"overlapped", "D when it was locked"});
  // Exposed time can be negative, so it is a count of picoseconds.
  pick.exposed =
      Duration::from_ps(object.required<std::int64_t>({"exposed_ps", "D - A when it was locked"}));
  return pick;
}

std::vector<std::pair<std::string, std::string>> read_config(StrictObject& object) {
  std::vector<std::pair<std::string, std::string>> parts;
  const auto part = [&](std::string_view name, std::string_view of) {
    if (auto print = object.optional<std::string>({name, of}))
      parts.emplace_back(name, std::move(*print));
  };
  part("scenario", "its fingerprint");
  part("machine", "that of the machine and its device");
  part("profile", "that of the profile");
  part("model", "that of the model's config.json");
  return parts;
}

Lock lock_fields(StrictObject& object, const config::SearchPath& search) {
  Lock lock;
  object.schema("weft.lock/1", "the picks of a plan");
  lock.scenario =
      config::required_file(object, {"scenario", "file of the scenario"}, search).string();
  if (auto pins = object.optional_object(
          {"pinned", "on the command line, over what the scenario says"}, read_pins)) {
    lock.pins = std::move(*pins);
  }
  lock.layout = object.optional<std::string>({"layout", "that was picked, as --layout takes it"})
                    .value_or("");
  lock.picks = object.required_list({"picks", "one a boundary"}, read_pick);
  lock.step = object.required<Duration>({"step", "one pass, when it was locked"});
  lock.exposed = Duration::from_ps(
      object.required<std::int64_t>({"exposed_ps", "of all boundaries together"}));
  if (auto config = object.optional_object({"config", "what the plan was made from"}, read_config))
    lock.config = std::move(*config);
  return lock;
}

std::string pick_text(const std::string& schedule, const Knobs& knobs) {
  return knobs.values().empty() ? schedule : fmt::format("{} {}", schedule, knobs.to_text());
}

// What changed since the lock, in words.
std::string since_lock(const Lock& lock, const EffectiveConfig& now) {
  if (lock.config.empty()) return "";
  const std::vector<std::string> changed = changed_parts(lock.config, now.parts);
  return changed.empty() ? "scenario and files are those of the lock: what changed is weft itself"
                         : fmt::format("changed since the lock: {}", fmt::join(changed, ", "));
}

/// The least part of a time that is growth: a digit of those that are printed.
constexpr double least_growth = 1e-4;

CheckedPick compare(const LockedPick& locked, const BoundaryPlan& now, const ErrorBand& band,
                    const Site& site, const sim::Effects& effects) {
  CheckedPick result;
  result.boundary = locked.boundary;
  const Figures& figures = now.figures.figures;
  // Where the error is not known, what is printed of a time is as much as can be told apart.
  const Duration allowed =
      Duration::from_ps(static_cast<std::int64_t>((band.known() ? band.fraction() : least_growth) *
                                                  static_cast<double>(locked.overlapped.ps())));
  const Schedule* schedule = find_schedule(locked.schedule);
  // A lock from before a knob was there means its default.
  Knobs knobs = schedule == nullptr ? Knobs() : Knobs(schedule->info().knobs);
  for (const auto& [name, value] : locked.knobs.values()) knobs.set(name, value);
  const bool same = locked.schedule == now.figures.schedule && knobs == now.figures.knobs;
  if (!same) {
    result.flipped = true;
    std::string cost = "is no longer in the catalogue";
    if (schedule != nullptr) {
      const bool legal = faults_of(knobs, schedule->info().knobs).empty() &&
                         schedule->refusals(now.boundary, knobs, site).empty();
      if (!legal) {
        cost = "is no longer legal";
      } else {
        const Duration old =
            overlapped_only(now.boundary, {schedule, knobs}, site, effects).overlapped;
        cost = fmt::format("would now take {}, {} more than that ({} when it was locked)", old,
                           old - figures.overlapped, locked.overlapped);
      }
    }
    result.sentence =
        fmt::format("the pick is now {} ({}); the locked {} {}",
                    pick_text(now.figures.schedule, now.figures.knobs), figures.overlapped,
                    pick_text(locked.schedule, locked.knobs), cost);
  } else if (figures.exposed() > locked.exposed + allowed) {
    result.regressed = true;
    result.sentence = fmt::format(
        "exposed time grew from {} to {}{}", locked.exposed, figures.exposed(),
        band.known() ? fmt::format(", more than the {} that the error band allows", allowed)
                     : "; how far off either may be is not known");
  } else {
    result.sentence =
        fmt::format("{} holds: exposed {}, locked at {}", pick_text(locked.schedule, locked.knobs),
                    figures.exposed(), locked.exposed);
  }
  return result;
}

}  // namespace

Lock lock_of(const Plan& plan, const std::filesystem::path& place, const Pins& pins) {
  const LayoutPlan& best = plan.layouts.front();
  Lock lock;
  lock.pins = pins;
  std::error_code error;
  const auto relative =
      std::filesystem::relative(std::filesystem::absolute(plan.scenario.file),
                                std::filesystem::absolute(place).parent_path(), error);
  lock.scenario = error ? plan.scenario.file : relative.string();
  if (!best.layers.empty()) lock.layout = layout_text(best);
  for (const BoundaryPlan& boundary : best.boundaries) {
    const Figures& figures = boundary.figures.figures;
    lock.picks.push_back({boundary.boundary.name, boundary.figures.schedule, boundary.figures.knobs,
                          figures.overlapped, figures.exposed()});
    lock.exposed += figures.exposed() * boundary.occurrences;
  }
  lock.step = best.step;
  lock.config = plan.config.parts;
  return lock;
}

Value to_value(const Lock& lock) {
  Value object = Value::object({{"schema", "weft.lock/1"}, {"scenario", lock.scenario}});
  if (!lock.pins.empty()) object.set("pinned", to_value(lock.pins));
  if (!lock.layout.empty()) object.set("layout", lock.layout);
  Value picks = Value::array();
  for (const LockedPick& pick : lock.picks) {
    picks.push(Value::object({{"boundary", pick.boundary},
                              {"schedule", pick.schedule},
                              {"knobs", to_value(pick.knobs)},
                              {"overlapped", config::to_value(pick.overlapped)},
                              {"exposed_ps", pick.exposed.ps()}}));
  }
  object.set("picks", std::move(picks))
      .set("step", config::to_value(lock.step))
      .set("exposed_ps", lock.exposed.ps());
  if (!lock.config.empty()) {
    Value config = Value::object();
    for (const auto& [name, print] : lock.config) config.set(name, print);
    object.set("config", std::move(config));
  }
  return object;
}

Lock read_lock(const std::filesystem::path& file, const config::SearchPath& search) {
  return read_lock(config::Document::load(file), search);
}

Lock read_lock(const config::Document& document, const config::SearchPath& search) {
  StrictObject object(document);
  Lock lock = lock_fields(object, search);
  object.finish();
  return lock;
}

config::TypeDescription describe_lock() {
  return config::describe([](StrictObject& object) { return lock_fields(object, {}).layout; });
}

bool CheckResult::failed() const {
  return layout_flipped || std::any_of(picks.begin(), picks.end(),
                                       [](const CheckedPick& pick) { return pick.failed(); });
}

CheckResult check(const Lock& lock, const config::SearchPath& search, const PlanOptions& options) {
  Scenario scenario = read_scenario(lock.scenario, search);
  apply(lock.pins, scenario);
  const Plan plan = make_plan(scenario, search, options);
  CheckResult result;
  result.config_hash = plan.config.hash();
  result.since = since_lock(lock, plan.config);
  if (plan.layouts.empty()) {
    result.layout_flipped = true;
    result.layout_sentence = "nothing fits any more";
    return result;
  }
  // Boundaries are compared under the locked layout where it is still there.
  const auto same =
      std::find_if(plan.layouts.begin(), plan.layouts.end(), [&](const LayoutPlan& layout) {
        return lock.layout.empty() || layout_text(layout) == lock.layout;
      });
  if (same == plan.layouts.end()) {
    result.layout_flipped = true;
    result.layout_sentence = fmt::format("the locked layout {} no longer fits; the pick is {}",
                                         lock.layout, layout_text(plan.layouts.front()));
    return result;
  }
  if (same != plan.layouts.begin()) {
    result.layout_flipped = true;
    result.layout_sentence = fmt::format(
        "the pick is now {} with {} a step; the locked {} takes {}, {} more ({} when it was "
        "locked)",
        layout_text(plan.layouts.front()), plan.layouts.front().step, lock.layout, same->step,
        same->step - plan.layouts.front().step, lock.step);
  }
  for (const LockedPick& locked : lock.picks) {
    const auto now = std::find_if(
        same->boundaries.begin(), same->boundaries.end(),
        [&](const BoundaryPlan& boundary) { return boundary.boundary.name == locked.boundary; });
    if (now == same->boundaries.end()) {
      result.picks.push_back(
          {locked.boundary, true, false, "the model no longer has this boundary"});
      continue;
    }
    result.picks.push_back(
        compare(locked, *now, now->band, *same->site, sim::effects_of(scenario.fidelity)));
  }
  return result;
}

}  // namespace weft::model
