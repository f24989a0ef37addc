// SPDX-License-Identifier: Apache-2.0
// `weft export`: a plan, or another system's config, in the words of a system that runs it.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/document.hpp"
#include "models/export/plan_export.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/tp_overlap.hpp"
#include "sim/units/nearest.hpp"
#include "tools/weft/import_formats.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

constexpr Bytes kLargestConfig = Bytes::from(std::int64_t{16} << 20);

model::ExportFormat export_format(const std::string& name) {
  std::vector<std::string_view> names;
  for (const model::ExportFormatName& each : model::export_formats()) {
    if (each.name == name) return each.format;
    names.push_back(each.name);
  }
  const auto nearest = nearest_name(name, names);
  throw UsageError(
      nearest
          ? fmt::format("there is no format \"{}\" (did you mean \"{}\"?)", name, *nearest)
          : fmt::format("there is no format \"{}\" (formats: {})", name, fmt::join(names, ", ")));
}

void write_out(const std::string& text, const std::optional<std::string>& file, Context& context) {
  if (!file) {
    context.out << text;
    return;
  }
  config::write_file(*file, text);
  context.err << "written to " << *file << '\n';
}

/// A file of Transformer Engine's settings, written again.
ExitCode convert(const std::string& text, const ExportOptions& options, model::ExportFormat format,
                 Context& context) {
  if (format != model::ExportFormat::te_yaml && format != model::ExportFormat::ub_cfgs) {
    throw UsageError("settings of Transformer Engine become te-yaml or ub-cfgs only");
  }
  const model::TpOverlap overlap = model::read_tp_overlap(text, options.file);
  print_notes(overlap.notes, context);
  const std::vector<std::string> header = {
      fmt::format("converted from {}", std::filesystem::path(options.file).filename().string())};
  write_out(format == model::ExportFormat::te_yaml
                ? model::to_tp_overlap_yaml(overlap.gemms, header)
                : model::to_ub_cfgs(overlap.gemms, header),
            options.out, context);
  return ExitCode::ok;
}

}  // namespace

bool emit_plan(const model::Plan& plan, const std::string& format,
               const std::optional<std::string>& file, Context& context) {
  const model::Exported exported = model::export_plan(plan, export_format(format));
  for (const std::string& remark : exported.remarks) context.err << "note: " << remark << '\n';
  if (exported.empty) {
    context.err << fmt::format("no pick of the plan has a word in {}: nothing is written\n",
                               format);
    return false;
  }
  write_out(exported.text, file, context);
  return true;
}

ExitCode export_file(const ExportOptions& options, Context& context) {
  const model::ExportFormat format = export_format(options.to);
  require_file(options.file);
  const std::string text = config::read_text(options.file, kLargestConfig);
  if (model::looks_like_tp_overlap(text)) return convert(text, options, format, context);
  model::Scenario scenario = load_scenario(options.file, options.pinned, context);
  if (std::holds_alternative<model::PipelineScenario>(scenario.what)) {
    throw UsageError("a pipeline of given durations has no schedule to export");
  }
  Planning planning;
  auto* whole = std::get_if<model::ModelScenario>(&scenario.what);
  const auto* boundary = std::get_if<model::BoundaryScenario>(&scenario.what);
  if (whole != nullptr ? whole->schedules.empty() : !boundary->schedule) {
    auto& schedules = whole != nullptr ? whole->schedules : planning.schedules;
    schedules = model::schedules_of(format);
    if (!schedules.empty()) {
      context.err << fmt::format("note: chosen from what that system runs: {}\n",
                                 fmt::join(schedules, ", "));
    }
  }
  const model::Plan plan = run_plan(scenario, planning, context);
  if (plan.layouts.empty()) throw UsageError(fmt::format("{}: nothing fits", options.file));
  return emit_plan(plan, options.to, options.out, context) ? ExitCode::ok : ExitCode::failed;
}

}  // namespace weft::tool
