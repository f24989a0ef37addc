// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/planning.hpp"

#include <chrono>
#include <ostream>

#include <fmt/format.h>

#include "tools/weft/interrupt.hpp"

namespace weft::tool {
namespace {

// Anything shorter needs no progress.
constexpr std::chrono::milliseconds quiet{1000};

}  // namespace

model::Plan run_plan(const model::Scenario& scenario, const Planning& planning, Context& context) {
  model::PlanOptions options;
  options.explain = planning.explain;
  options.search.exhaustive = planning.exhaustive;
  options.search.threads = planning.threads;
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t searches = 0, last = 0;
  bool shown = false;
  options.search.progress = [&](std::int64_t done, std::int64_t all) {
    if (done < last) ++searches;
    last = done;
    if (context.progress && std::chrono::steady_clock::now() - begin > quiet) {
      context.err << fmt::format("\rboundary {}: {} of {} points", searches + 1, done, all)
                  << "\x1b[K" << std::flush;
      shown = true;
    }
    return !interrupted();
  };
  model::Plan plan = model::make_plan(scenario, context.search, options);
  if (shown) context.err << "\r\x1b[K" << std::flush;
  return plan;
}

}  // namespace weft::tool
