// SPDX-License-Identifier: Apache-2.0
// `weft schedules`: the catalogue, made from what the schedules register.
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/json_writer.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/nearest.hpp"
#include "tools/weft/commands.hpp"
#include "tools/weft/show_schedule.hpp"

namespace weft::tool {
namespace {

using config::Value;

Value knob_value(const model::KnobValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count;
  return std::get<std::string>(value);
}

Value info_value(const model::ScheduleInfo& info) {
  Value object = Value::object({{"name", info.name},
                                {"system", info.system},
                                {"summary", info.summary},
                                {"citation", info.citation}});
  Value knobs = Value::array();
  for (const model::KnobSpec& knob : info.knobs) {
    Value values = Value::array();
    for (const model::KnobValue& value : knob.values) values.push(knob_value(value));
    Value each = Value::object({{"name", knob.name}, {"meaning", knob.meaning}});
    each.set("values", std::move(values)).set("default", knob_value(knob.default_value));
    if (!knob.system_name.empty()) each.set("system_name", knob.system_name);
    knobs.push(std::move(each));
  }
  object.set("knobs", std::move(knobs));
  const auto say = [&](const char* name, const std::string& text) {
    if (!text.empty()) object.set(name, text);
  };
  say("applies_to", info.applies_to);
  say("order", info.order);
  say("edges", info.edges);
  say("resources", info.resources);
  say("buffers", info.buffers);
  Value rules = Value::array();
  for (const std::string& rule : info.rules) rules.push(rule);
  object.set("rules", std::move(rules));
  return object;
}

std::string explain(const model::ScheduleInfo& info) {
  std::string text = fmt::format("{} ({})\n  {}\n  source: {}\n", info.name, info.system,
                                 info.summary, info.citation);
  const auto say = [&](std::string_view name, const std::string& what) {
    if (!what.empty()) text += fmt::format("  {:<10} {}\n", name, what);
  };
  say("for", info.applies_to);
  say("order", info.order);
  say("edges", info.edges);
  say("runs on", info.resources);
  say("holds", info.buffers);
  if (!info.rules.empty()) say("rules", fmt::format("{}", fmt::join(info.rules, "; ")));
  if (info.knobs.empty()) return text + "  no knobs\n";
  text += "  knobs\n";
  for (const model::KnobSpec& knob : info.knobs) {
    std::vector<std::string> values;
    for (const model::KnobValue& value : knob.values) values.push_back(model::to_text(value));
    text += fmt::format("  {:<10} {}\n  {:<10} one of {}{}; default {}\n", knob.name, knob.meaning,
                        "", fmt::join(values, " "), knob.open.empty() ? "" : " or " + knob.open,
                        model::to_text(knob.default_value));
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
    context.out << (context.format == Format::json
                        ? config::to_json(info_value(one->info()))
                        : explain(one->info()) + show_schedule(*one, context));
    return ExitCode::ok;
  }
  if (context.format == Format::json) {
    Value list = Value::array();
    for (const model::Schedule* schedule : all) list.push(info_value(schedule->info()));
    context.out << config::to_json(list);
    return ExitCode::ok;
  }
  for (const model::Schedule* schedule : all) {
    context.out << fmt::format("{:<28} {}\n{:<28}   for {}\n", schedule->info().name,
                               schedule->info().summary, "", schedule->info().applies_to);
  }
  context.out << "\n`weft schedules NAME` explains one, with its knobs.\n";
  return ExitCode::ok;
}

}  // namespace weft::tool
