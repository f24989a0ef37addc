// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/registry.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace weft::model {
namespace {

using Catalogue = std::map<std::string, std::unique_ptr<const Schedule>, std::less<>>;

// Made by the first registration, whichever file that is in; filled before main and only read after.
Catalogue& catalogue() {
  static Catalogue schedules;
  return schedules;
}

}  // namespace

std::vector<const Schedule*> all_schedules() {
  std::vector<const Schedule*> schedules;
  for (const auto& [name, schedule] : catalogue()) schedules.push_back(schedule.get());
  return schedules;
}

const Schedule* find_schedule(std::string_view name) {
  const auto found = catalogue().find(name);
  return found == catalogue().end() ? nullptr : found->second.get();
}

Registration::Registration(std::unique_ptr<const Schedule> schedule) {
  const ScheduleInfo& info = schedule->info();
  const auto [entry, added] = catalogue().try_emplace(info.name, nullptr);
  if (!added) {
    // Before main nobody can catch: say which name and stop.
    std::fprintf(stderr, "weft: two schedules are registered as \"%s\": \"%s\" and \"%s\"\n",
                 info.name.c_str(), entry->second->info().summary.c_str(), info.summary.c_str());
    std::abort();
  }
  entry->second = std::move(schedule);
}

}  // namespace weft::model
