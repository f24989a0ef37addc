// SPDX-License-Identifier: Apache-2.0
// `weft schedules`: the catalogue, made from what the schedules register.
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/json_writer.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {
namespace {

using config::Value;

Value to_value(const model::KnobValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count;
  return std::get<std::string>(value);
}

Value to_value(const model::ScheduleInfo& info) {
  Value object = Value::object({{"name", info.name},
                                {"system", info.system},
                                {"summary", info.summary},
                                {"citation", info.citation}});
  Value knobs = Value::array();
  for (const model::KnobSpec& knob : info.knobs) {
    Value values = Value::array();
    for (const model::KnobValue& value : knob.values) values.push(to_value(value));
    Value each = Value::object({{"name", knob.name}, {"meaning", knob.meaning}});
    each.set("values", std::move(values)).set("default", to_value(knob.default_value));
    if (!knob.system_name.empty()) each.set("system_name", knob.system_name);
    knobs.push(std::move(each));
  }
  object.set("knobs", std::move(knobs));
  return object;
}

std::string explain(const model::ScheduleInfo& info) {
  std::string text = fmt::format("{} ({})\n  {}\n  source: {}\n", info.name, info.system,
                                 info.summary, info.citation);
  if (info.knobs.empty()) return text + "  no knobs\n";
  for (const model::KnobSpec& knob : info.knobs) {
    std::vector<std::string> values;
    for (const model::KnobValue& value : knob.values) values.push_back(model::to_text(value));
    text += fmt::format("  {:<10} {}\n  {:<10} one of {}; default {}\n", knob.name, knob.meaning,
                        "", fmt::join(values, " "), model::to_text(knob.default_value));
    if (!knob.system_name.empty())
      text += fmt::format("  {:<10} there: {}\n", "", knob.system_name);
  }
  return text;
}

}  // namespace

ExitCode schedules(const SchedulesOptions& options, Context& context) {
  std::vector<const model::Schedule*> all = model::all_schedules();
  if (options.name) {
    const model::Schedule* one = model::find_schedule(*options.name);
    if (one == nullptr) {
      std::vector<std::string_view> names;
      for (const model::Schedule* schedule : all) names.push_back(schedule->info().name);
      const auto nearest = nearest_name(*options.name, names);
      throw UsageError(fmt::format("there is no schedule \"{}\" ({})", *options.name,
                                   nearest ? fmt::format("did you mean \"{}\"?", *nearest)
                                           : fmt::format("schedules: {}", fmt::join(names, ", "))));
    }
    context.out << (context.format == Format::json ? config::to_json(to_value(one->info()))
                                                   : explain(one->info()));
    return ExitCode::ok;
  }
  if (context.format == Format::json) {
    Value list = Value::array();
    for (const model::Schedule* schedule : all) list.push(to_value(schedule->info()));
    context.out << config::to_json(list);
    return ExitCode::ok;
  }
  for (const model::Schedule* schedule : all) {
    context.out << fmt::format("{:<14} {}\n", schedule->info().name, schedule->info().summary);
  }
  context.out << "\n`weft schedules NAME` explains one, with its knobs.\n";
  return ExitCode::ok;
}

}  // namespace weft::tool
