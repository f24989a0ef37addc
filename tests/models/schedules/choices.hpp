// SPDX-License-Identifier: Apache-2.0
// Schedules by name, with knobs set, for tests.
#pragma once

#include <string>
#include <vector>

#include "models/planner/evaluate.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {

struct Set {
  std::string name;
  KnobValue value;
};

inline ScheduleChoice choice_of(const std::string& name, const std::vector<Set>& knobs = {}) {
  const Schedule* schedule = find_schedule(name);
  ScheduleChoice choice{schedule, Knobs(schedule->info().knobs)};
  for (const Set& each : knobs) choice.knobs.set(each.name, each.value);
  return choice;
}

inline std::vector<std::string> refusals_of(const ScheduleChoice& choice, const Boundary& boundary,
                                            const Site& site) {
  return choice.schedule->refusals(boundary, choice.knobs, site);
}

}  // namespace weft::model
