// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/planning.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "models/planner/read_scenario.hpp"
#include "tools/weft/interrupt.hpp"
#include "tools/weft/progress.hpp"

namespace weft::tool {

model::Scenario load_scenario(const std::string& file, const Pinned& pinned,
                              const Context& context) {
  model::Scenario scenario = model::read_scenario(file, context.search);
  model::apply(pinned, scenario);
  return scenario;
}

model::Plan run_plan(const model::Scenario& scenario, const Planning& planning, Context& context) {
  model::PlanOptions options;
  options.explain = planning.explain;
  options.search.exhaustive = planning.exhaustive;
  options.search.threads = planning.threads;
  options.search.schedules = planning.schedules;
  Progress progress(context.err, context.progress);
  std::int64_t searches = 0, last = 0;
  options.search.progress = [&](std::int64_t done, std::int64_t all) {
    if (done < last) ++searches;
    last = done;
    progress.say(fmt::format("boundary {}: {} of {} points", searches + 1, done, all));
    return !interrupted();
  };
  return model::make_plan(scenario, context.search, options);
}

}  // namespace weft::tool
