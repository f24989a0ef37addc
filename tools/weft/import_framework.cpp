// SPDX-License-Identifier: Apache-2.0
// `weft import` of a training job: a scenario and its model; of an overlap configuration: its
// settings, whole and checked; of a model's config.json: what was read.
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include "configs/reader/atomic_file.hpp"
#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/hf_config.hpp"
#include "models/import/launch_args.hpp"
#include "models/import/megatron.hpp"
#include "models/import/tp_overlap.hpp"
#include "sim/units/format.hpp"
#include "tools/weft/import_formats.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

void say_nulls(const config::Value& object, std::string_view where, Context& context) {
  for (const config::Member& member : object.members()) {
    if (member.value.is_null())
      context.err << fmt::format("unknown: {} of the {}\n", member.key, where);
    if (member.value.is_object()) say_nulls(member.value, where, context);
  }
}

}  // namespace

ExitCode import_job(const ImportInput& input, Context& context) {
  const model::LaunchArguments arguments = model::read_launch_arguments(input.text, input.name);
  const model::MegatronJob job = model::megatron_job(arguments);
  print_notes(arguments.notes, context);
  print_notes(job.notes, context);
  const config::Value model = model::model_of(job, arguments);
  if (job.pp > 1)
    context.err << fmt::format("note: PP {} is left out: the scenario is of its layers\n", job.pp);
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
  return ExitCode::ok;
}

ExitCode import_tp_overlap(const ImportInput& input, Context& context) {
  const model::TpOverlap overlap = model::read_tp_overlap(input.text, input.name);
  print_notes(overlap.notes, context);
  deliver(
      model::to_tp_overlap_yaml(
          overlap.gemms, {fmt::format("read from {}", fs::path(input.name).filename().string())}),
      input, context);
  return ExitCode::ok;
}

ExitCode import_model(const ImportInput& input, Context& context) {
  const model::ImportedModel imported = model::read_hf_config(
      config::Document::parse(input.text, input.name, {.dialect = config::Dialect::tolerant}));
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
