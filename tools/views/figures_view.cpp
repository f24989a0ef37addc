// SPDX-License-Identifier: Apache-2.0
#include "tools/views/figures_view.hpp"

#include <fmt/format.h>

#include "sim/units/format.hpp"

namespace weft::tool {
namespace {

using config::Value;

Value optional_number(const std::optional<double>& number) {
  return number ? Value(*number) : Value(nullptr);
}

}  // namespace

std::string percent(const std::optional<double>& fraction) {
  return fraction ? fmt::format("{:.1f} %", 100 * *fraction) : "-";
}

void add_figures(const model::Figures& f, Value& object) {
  object.set("compute_only_ps", f.compute_only.ps())
      .set("communication_only_ps", f.communication_only.ps())
      .set("serial_ps", f.serial.ps())
      .set("overlapped_ps", f.overlapped.ps())
      .set("schedule_compute_only_ps", f.schedule_compute_only.ps())
      .set("schedule_communication_only_ps", f.schedule_communication_only.ps())
      .set("exposed_ps", f.exposed().ps())
      .set("hidden_ratio", optional_number(f.hidden_ratio()))
      .set("covered_ratio", f.covered_ratio)
      .set("speedup", optional_number(f.speedup()));
  Value modes = Value::array();
  for (const model::ModeFigures& mode : f.modes) {
    modes.push(Value::object({{"share", mode.share}, {"overlapped_ps", mode.overlapped.ps()}}));
  }
  object.set("modes", std::move(modes));
  object.set("unresolved_races", static_cast<std::int64_t>(f.unresolved_races));
}

Value to_value(const model::BoundaryFigures& boundary) {
  Value object = Value::object({{"boundary", boundary.boundary}, {"schedule", boundary.schedule}});
  object.set("knobs", to_value(boundary.knobs));
  add_figures(boundary.figures, object);
  return object;
}

Value to_value(const model::Attribution& attribution) {
  const auto parts = [](const std::vector<model::Attribution::Part>& all) {
    Value object = Value::object();
    for (const auto& part : all) object.set(part.effect + "_ps", part.time.ps());
    return object;
  };
  Value object = parts(attribution.parts);
  object.set("transport", parts(attribution.transport));
  return object;
}

Value to_value(const model::ErrorBand& band) {
  Value object = Value::object();
  object.set("fraction", band.known() ? Value(band.fraction()) : Value())
      .set("low", band.known() ? Value(band.low) : Value())
      .set("high", band.known() ? Value(band.high) : Value())
      .set("family", band.family)
      .set("source", config::to_value(band.source.kind))
      .set("reference", band.source.reference);
  return object;
}

void add_config(const model::EffectiveConfig& config, Value& object) {
  Value parts = Value::object();
  for (const auto& [name, print] : config.parts) parts.set(name, print);
  object.set("config_hash", config.hash())
      .set("config_parts", std::move(parts))
      .set("scenario", config.scenario);
}

Value to_value(const std::vector<config::SourcedUse>& assumed) {
  Value list = Value::array();
  for (const config::SourcedUse& use : assumed) {
    list.push(Value::object({{"file", use.file},
                             {"pointer", use.json_pointer},
                             {"value", use.value},
                             {"source", use.source_kind},
                             {"reference", use.reference}}));
  }
  return list;
}

std::string describe_band(const std::string& name, Duration time, const model::ErrorBand& band) {
  if (!band.known())
    return fmt::format("  how far off {} may be is not known ({})\n", name, band.source.reference);
  return fmt::format(
      "  measured, {} is from {} to {} in nine of ten cases like it, by {} ({}: {})\n", name,
      band.least(time), band.most(time), band.family,
      config::Codec<config::SourceKind>::write(band.source.kind).as_string(),
      band.source.reference);
}

std::string describe(const model::Figures& f, const std::optional<model::ErrorBand>& band) {
  std::string text;
  const auto line = [&](const char* name, Duration time, const char* meaning) {
    text += fmt::format("  {:<4}{:>12}  {}\n", name, time, meaning);
  };
  line("A", f.compute_only, "compute alone: the library's kernels on all SMs");
  line("B", f.communication_only, "communication alone: the library's collective");
  line("C", f.serial, "one after the other");
  line("D", f.overlapped, "this schedule");
  line("A_s", f.schedule_compute_only, "this schedule's compute, nothing communicated");
  line("B_s", f.schedule_communication_only, "this schedule's communication, no tile work");
  text +=
      fmt::format("  exposed {} = {} by the schedule's own compute + {} beside it\n", f.exposed(),
                  f.schedule_compute_only - f.compute_only, f.overlapped - f.schedule_compute_only);
  text += fmt::format("  hidden {} of the communication, covered {}, speed-up {} over serial\n",
                      percent(f.hidden_ratio()), percent(f.covered_ratio),
                      f.speedup() ? fmt::format("{:.3f}x", *f.speedup()) : "-");
  if (f.modes.size() > 1) {
    text += "  can go more than one way:";
    for (const model::ModeFigures& mode : f.modes)
      text += fmt::format(" {} in {:.0f} %", mode.overlapped, 100 * mode.share);
    text += "; D is the worst\n";
  }
  if (f.unresolved_races > 0) {
    text += fmt::format("  {} kinds of race: only all one way and all the other were run\n",
                        f.unresolved_races);
  }
  if (!band) return text;
  text += describe_band("D", f.overlapped, *band);
  if (band->known() && f.serial != f.overlapped && band->least(f.overlapped) <= f.serial &&
      f.serial <= band->most(f.overlapped))
    text += "  C lies among these: measure both before relying on the difference\n";
  return text;
}

std::string describe(const model::Attribution& attribution) {
  Duration sum;
  for (const auto& part : attribution.parts) sum += part.time;
  std::string text = fmt::format("  exposed {} comes from\n", sum);
  for (const auto& part : attribution.parts) {
    if (part.time == Duration()) continue;
    text += fmt::format("    {:<16}{:>12}\n", part.effect, part.time);
    if (part.effect != "transport") continue;
    for (const auto& inner : attribution.transport) {
      if (inner.time != Duration())
        text += fmt::format("      {:<14}{:>12}\n", inner.effect, inner.time);
    }
  }
  return text;
}

std::string describe(const std::vector<model::ClaimFinding>& findings) {
  std::string text;
  for (const model::ClaimFinding& finding : findings) {
    text += fmt::format("  {} {}\n", finding.holds ? " " : "!", finding.sentence);
  }
  return text;
}

std::string describe_assumed(const std::vector<config::SourcedUse>& assumed) {
  if (assumed.empty())
    return "every number of machine and profile is measured, fitted, published or from a "
           "datasheet\n";
  std::string text = fmt::format("{} numbers are assumed, not measured:\n", assumed.size());
  for (const config::SourcedUse& use : assumed) {
    text += fmt::format("  {}:{} {} ({})\n", use.file, use.json_pointer, use.value, use.reference);
  }
  return text;
}

std::string describe_notes(const std::vector<config::ConfigError>& notes) {
  std::string text;
  for (const config::ConfigError& note : notes)
    text += fmt::format("note: {}\n", config::to_string(note));
  return text;
}

Value to_value(const std::vector<config::ConfigError>& notes) {
  Value list = Value::array();
  for (const config::ConfigError& note : notes) {
    list.push(Value::object({{"file", note.file},
                             {"line", note.line},
                             {"pointer", note.json_pointer},
                             {"message", note.message}}));
  }
  return list;
}

}  // namespace weft::tool
