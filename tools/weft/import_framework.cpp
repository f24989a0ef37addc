// SPDX-License-Identifier: Apache-2.0
// `weft import` of a training job: a scenario and its model; of an overlap configuration: its
// settings, whole and checked; both run as they ask, beside weft's pick, where a scenario is known; of
// a model's config.json: what was read.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/export/asked.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/hf_config.hpp"
#include "models/import/hf_experts.hpp"
#include "models/import/launch_args.hpp"
#include "models/import/megatron.hpp"
#include "models/import/tp_overlap.hpp"
#include "sim/units/format.hpp"
#include "tools/views/asked_view.hpp"
#include "tools/weft/import_formats.hpp"
#include "tools/weft/planning.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kLargestOverlap = Bytes::from(std::int64_t{1} << 20);

/// Plans the scenario and sets what the settings ask for beside it.
void compare_asked(const std::string& scenario, const model::TpOverlap& overlap, Context& context) {
  const model::Plan plan = run_plan(load_scenario(scenario, {}, context), {}, context);
  if (plan.layouts.empty()) {
    context.err << fmt::format("note: {}: nothing fits, so nothing runs as asked\n", scenario);
    return;
  }
  context.err << describe(model::run_as_asked(plan, overlap));
}

bool any_null(const config::Value& object) {
  for (const config::Member& member : object.members()) {
    if (member.value.is_null() || (member.value.is_object() && any_null(member.value))) return true;
  }
  return false;
}

/// A job that overlaps: by the settings that it names, where they are beside it, else by the defaults.
void compare_job(const model::MegatronJob& job, const ImportInput& input, Context& context) {
  model::TpOverlap overlap;
  overlap.file = input.name;
  if (job.overlap_config) {
    const fs::path file = fs::path(input.name).parent_path() / *job.overlap_config;
    if (!fs::is_regular_file(file)) {
      context.err << fmt::format("note: {}: {} is not there: what it asks for is not run\n",
                                 input.name, *job.overlap_config);
      return;
    }
    overlap = overlap_file(file.string(), context);
  }
  compare_asked(*input.options.out, overlap, context);
}

void say_nulls(const config::Value& object, std::string_view where, Context& context) {
  for (const config::Member& member : object.members()) {
    if (member.value.is_null())
      context.err << fmt::format("unknown: {} of the {}\n", member.key, where);
    if (member.value.is_object()) say_nulls(member.value, where, context);
  }
}

}  // namespace

model::TpOverlap overlap_file(const std::string& file, Context& context) {
  require_file(file);
  model::TpOverlap overlap = model::read_tp_overlap(config::read_text(file, kLargestOverlap), file);
  print_notes(overlap.notes, context);
  return overlap;
}

ExitCode import_job(const ImportInput& input, Context& context) {
  const model::LaunchArguments arguments = model::read_launch_arguments(input.text, input.name);
  const model::MegatronJob job = model::megatron_job(arguments);
  print_notes(arguments.notes, context);
  print_notes(job.notes, context);
  const config::Value model = model::stage_of(model::model_of(job, arguments), job);
  if (job.pp > 1) {
    context.err << fmt::format(
        "note: PP {}: the model is one stage of it, with embedding and head, which only the first "
        "and "
        "the last stage have\n",
        job.pp);
  }
  std::string model_file, machine;
  if (input.options.out) {
    const fs::path out = *input.options.out;
    const fs::path file = out.parent_path() / (out.stem().string() + ".model.json");
    config::write_file(file, config::to_json(model));
    context.err << "written to " << file.string() << '\n';
    model_file = file.filename().string();
  }
  if (input.options.complete) {
    const fs::path folder =
        input.options.out ? fs::path(*input.options.out).parent_path() : fs::path();
    machine = fs::proximate(fs::absolute(config_file("machines", *input.options.complete, context)),
                            folder.empty() ? fs::current_path() : fs::absolute(folder))
                  .generic_string();
  }
  const config::Value scenario = model::scenario_of(
      job, fmt::format("imported from {}", fs::path(input.name).filename().string()), model_file,
      machine);
  say_nulls(model, "model", context);
  say_nulls(scenario, "scenario", context);
  if (!input.options.out) context.out << config::to_json(model);
  deliver(config::to_json(scenario), input, context);
  if (job.overlap && input.options.out && !any_null(scenario)) compare_job(job, input, context);
  return ExitCode::ok;
}

ExitCode import_tp_overlap(const ImportInput& input, Context& context) {
  const model::TpOverlap overlap = model::read_tp_overlap(input.text, input.name);
  print_notes(overlap.notes, context);
  deliver(
      model::to_tp_overlap_yaml(
          overlap.gemms, {fmt::format("read from {}", fs::path(input.name).filename().string())}),
      input, context);
  if (input.options.with) compare_asked(*input.options.with, overlap, context);
  return ExitCode::ok;
}

/// A model that is counted and cannot be planned.
ExitCode import_sparse(const config::Document& document, const ImportInput& input,
                       Context& context) {
  const model::SparseModel m = model::read_sparse_model(document);
  print_notes(m.notes, context);
  for (const std::string& feature : m.features) {
    context.err << fmt::format(
        "note: {}: {} cannot be simulated yet: parameters are counted only\n", input.name, feature);
  }
  deliver(config::to_json(config::Value::object({{"name", m.name},
                                                 {"family", m.family},
                                                 {"layers", m.layers},
                                                 {"hidden", m.hidden},
                                                 {"experts", m.experts},
                                                 {"experts_per_token", m.experts_per_token},
                                                 {"parameters", m.parameters},
                                                 {"active_parameters", m.active}})),
          input, context);
  return ExitCode::ok;
}

ExitCode import_model(const ImportInput& input, Context& context) {
  const config::Document document =
      config::Document::parse(input.text, input.name, {.dialect = config::Dialect::tolerant});
  if (model::is_sparse_model(document)) return import_sparse(document, input, context);
  const model::ImportedModel imported = model::read_hf_config(document);
  print_notes(imported.notes, context);
  const model::ModelConfig& m = imported.model;
  const model::ParameterCount count = model::parameters_of(m);
  deliver(config::to_json(config::Value::object({{"name", m.name},
                                                 {"family", m.family},
                                                 {"layers", m.layers},
                                                 {"hidden", m.hidden},
                                                 {"ffn", m.ffn},
                                                 {"heads", m.heads},
                                                 {"kv_heads", m.kv_heads},
                                                 {"head_dim", m.head_dim},
                                                 {"vocab", m.vocab},
                                                 {"parameters", count.total}})),
          input, context);
  return ExitCode::ok;
}

}  // namespace weft::tool
