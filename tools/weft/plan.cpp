// SPDX-License-Identifier: Apache-2.0
// `weft plan`: layouts, schedules and knobs, ranked, with a reason for each pick.
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/lock.hpp"
#include "tools/views/asked_view.hpp"
#include "tools/views/plan_view.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/import_formats.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

// Transformer Engine untold: --tp-comm-overlap without a file.
constexpr std::string_view untold = "te.defaults";

model::AskedPlan as_asked(const model::Plan& made, const std::string& settings, Context& context) {
  if (settings != untold) return model::run_as_asked(made, overlap_file(settings, context));
  model::TpOverlap nothing;
  nothing.file = settings;
  return model::run_as_asked(made, nothing);
}

}  // namespace

ExitCode plan(const PlanOptions& options, Context& context) {
  const model::Scenario scenario = load_scenario(options.scenario, options.pinned, context);
  if (options.break_even) return break_even(scenario, *options.break_even, context);
  const model::Plan made =
      run_plan(scenario, {options.threads, options.exhaustive, options.explain}, context);
  if (options.lock && !made.layouts.empty()) {
    config::write_file(
        *options.lock,
        config::to_json(model::to_value(model::lock_of(made, *options.lock, options.pinned))));
  }
  bool emitted = true;
  if (options.emit && !made.layouts.empty()) {
    const std::size_t equals = options.emit->find('=');
    if (equals == std::string::npos) throw UsageError("--emit wants FORMAT=FILE");
    emitted =
        emit_plan(made, options.emit->substr(0, equals), options.emit->substr(equals + 1), context);
  }
  std::optional<model::AskedPlan> asked;
  if (options.against && !made.layouts.empty()) asked = as_asked(made, *options.against, context);
  if (context.format == Format::json) {
    config::Value value = to_value(made);
    if (asked) value.set("asked", to_value(*asked));
    value.set("weft", build_value());
    context.out << config::to_json(value);
  } else {
    context.out << describe(made, options.top);
    if (asked) context.out << '\n' << describe(*asked);
    context.out << run_line(made.config.hash());
    if (options.lock && !made.layouts.empty())
      context.out << fmt::format("picks locked in {}\n", *options.lock);
  }
  return made.layouts.empty() || !emitted ? ExitCode::failed : ExitCode::ok;
}

}  // namespace weft::tool
