// SPDX-License-Identifier: Apache-2.0
// `weft compare`: schedules of one boundary under each other, and `weft plan --break-even`: where overlap starts to
// pay.
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/break_even.hpp"
#include "models/planner/comparison.hpp"
#include "sim/units/format.hpp"
#include "tools/views/compare_view.hpp"
#include "tools/views/figures_view.hpp"

namespace weft::tool {
namespace {

using config::Value;

Value comparison_value(const model::Comparison& comparison) {
  Value list = Value::array();
  for (const model::Compared& each : comparison.schedules) {
    Value object = Value::object({{"schedule", each.schedule}});
    if (each.choice) {
      object.set("knobs", each.choice->knobs.to_text());
      add_figures(each.figures, object);
      object.set("error_band", tool::to_value(each.band));
    } else {
      object.set("refused", each.refusal);
    }
    list.push(std::move(object));
  }
  Value result = Value::object({{"schema", "weft.comparison/1"},
                                {"boundary", comparison.boundary.name},
                                {"machine", comparison.machine_name}});
  result.set("schedules", std::move(list));
  return result;
}

Value verdict_value(const model::Verdict& verdict) {
  return Value::object({{"value", verdict.value},
                        {"overlap", verdict.overlap},
                        {"schedule", verdict.schedule},
                        {"serial_ps", verdict.serial.ps()},
                        {"picked_ps", verdict.picked.ps()}});
}

}  // namespace

ExitCode compare(const CompareOptions& options, Context& context) {
  const model::Scenario scenario = load_scenario(options.scenario, {}, context);
  const sim::Effects effects = sim::effects_of(scenario.fidelity);
  const model::Comparison comparison = model::compare(scenario, options.schedules, context.search);
  if (options.svg) config::write_file(*options.svg, to_svg(comparison, effects));
  context.out << (context.format == Format::json ? config::to_json(comparison_value(comparison))
                                                 : describe(comparison, effects, context.colour));
  return ExitCode::ok;
}

ExitCode break_even(const model::Scenario& scenario, const std::string& axis, Context& context) {
  model::BreakEvenAxis which = model::BreakEvenAxis::tokens;
  for (const model::BreakEvenAxis each : model::every_break_even_axis) {
    if (name_of(each) == axis) which = each;
  }
  const model::BreakEven found = model::break_even(scenario, which, context.search);
  if (context.format == Format::json) {
    Value verdicts = Value::array(), flips = Value::array();
    for (const model::Verdict& verdict : found.verdicts) verdicts.push(verdict_value(verdict));
    for (const model::Flip& flip : found.flips) {
      Value pair = Value::array();
      pair.push(verdict_value(flip.before));
      pair.push(verdict_value(flip.after));
      flips.push(std::move(pair));
    }
    Value object = Value::object({{"schema", "weft.break_even/1"}, {"axis", axis}});
    if (!found.layout.empty()) object.set("layout", found.layout);
    object.set("verdicts", std::move(verdicts)).set("flips", std::move(flips));
    Value left_out = Value::array();
    for (const model::LeftOut& each : found.left_out)
      left_out.push(Value::object({{"value", each.value}, {"reason", each.reason}}));
    object.set("left_out", std::move(left_out));
    context.out << config::to_json(object);
    return ExitCode::ok;
  }
  if (!found.layout.empty()) context.out << fmt::format("in the layout {}\n", found.layout);
  context.out << fmt::format("{:>10}  {:<28} {:>12} {:>12} {:>6}\n", axis, "pick", "unfused",
                             "picked", "gain");
  for (const model::Verdict& each : found.verdicts) {
    context.out << fmt::format("{:>10}  {:<28} {:>12} {:>12} {:>5.1f}%\n", each.value,
                               each.schedule, fmt::format("{}", each.serial),
                               fmt::format("{}", each.picked),
                               100 * (1 - ratio(each.picked, each.serial)));
  }
  for (const model::Flip& flip : found.flips) {
    context.out << fmt::format("break-even: {} at {} {} ({}), {} at {} ({})\n",
                               flip.before.overlap ? "overlap" : "do not overlap",
                               flip.before.value, axis, flip.before.schedule,
                               flip.after.overlap ? "overlap" : "do not overlap", flip.after.value,
                               flip.after.schedule);
  }
  for (const model::LeftOut& each : found.left_out)
    context.out << fmt::format("{:>10}  left out: {}\n", each.value, each.reason);
  if (found.verdicts.empty()) {
    context.out << "nothing could be planned over the whole range\n";
  } else if (found.flips.empty()) {
    context.out << fmt::format("the verdict is the same over the whole range: {}\n",
                               found.verdicts.front().overlap ? "overlap" : "do not overlap");
  }
  return ExitCode::ok;
}

}  // namespace weft::tool
