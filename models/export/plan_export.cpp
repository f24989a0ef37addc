// SPDX-License-Identifier: Apache-2.0
// Names go through the registry: a knob whose system name is a setting of a system, or a variable of
// NCCL, is that.
#include "models/export/plan_export.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/error.hpp"
#include "configs/reader/fingerprint.hpp"
#include "models/export/inference_export.hpp"
#include "models/export/te_choice.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/nccl_env.hpp"
#include "models/planner/lock.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

std::string pick_words(const BoundaryPlan& boundary) {
  const std::string knobs = boundary.figures.knobs.to_text();
  return knobs.empty() ? boundary.figures.schedule
                       : fmt::format("{} {}", boundary.figures.schedule, knobs);
}

std::vector<UbGemm> overlap_of(const LayoutPlan& layout, std::vector<std::string>& remarks) {
  std::vector<UbGemm> gemms;
  const auto leave = [&](std::string_view boundary, std::string why) {
    remarks.push_back(fmt::format("{}: {}; {} left at the default", boundary, why,
                                  fmt::join(ub_products(boundary), " and ")));
  };
  for (const BoundaryPlan& boundary : layout.boundaries) {
    const std::string& name = boundary.figures.boundary;
    const Schedule* schedule = find_schedule(boundary.figures.schedule);
    if (ub_products(name).empty() || schedule == nullptr) {
      remarks.push_back(fmt::format("{}: no product of Transformer Engine has this name", name));
      continue;
    }
    std::vector<UbGemm> told = ub_gemms_of(name, schedule->info(), boundary.figures.knobs);
    if (told.empty()) {
      leave(name, fmt::format("the pick, {}, is not one of Transformer Engine's methods",
                              pick_words(boundary)));
    }
    for (UbGemm& gemm : told) gemms.push_back(std::move(gemm));
  }
  for (const UbPairFault& fault : pair_faults_of(gemms)) {
    remarks.push_back(fmt::format("{}: the pair is left at the default", fault.what));
    const std::string layer = fault.product.substr(0, fault.product.find('_'));
    const std::string partner = layer == "proj" ? "qkv" : layer == "fc2" ? "fc1" : layer;
    std::erase_if(gemms, [&](const UbGemm& gemm) {
      return gemm.atomic_gemm.value_or(false) &&
             (gemm.name.starts_with(layer) || gemm.name.starts_with(partner));
    });
  }
  return gemms;
}

/// Whether every pick of these boundaries is serial, and there is one.
bool all_serial(const LayoutPlan& layout, std::initializer_list<std::string_view> names) {
  bool any = false;
  for (const BoundaryPlan& boundary : layout.boundaries) {
    if (std::find(names.begin(), names.end(), boundary.figures.boundary) == names.end()) continue;
    if (boundary.figures.schedule != "serial") return false;
    any = true;
  }
  return any;
}

/// What a boundary alone, which has no layout, does with the rows of its sequence; nothing of a model's plan.
std::string rows_of(const Plan& plan) {
  const auto* boundary = std::get_if<BoundaryScenario>(&plan.scenario.what);
  if (boundary == nullptr) return {};
  if (boundary->kind == BoundaryKind::ag_gemm) return "gathers";
  return boundary->kind == BoundaryKind::gemm_rs ? "scatters" : std::string();
}

Exported arguments(const Plan& plan, const LayoutPlan& layout, bool nemo) {
  Exported result;
  const std::string rows = rows_of(plan);
  const bool sequence_parallel = layout.layout.sequence_parallel || !rows.empty();
  std::vector<std::pair<std::string, std::string>> settings;
  settings.emplace_back("tensor_model_parallel_size", std::to_string(layout.layout.tp));
  const std::string on = nemo ? "True" : "";
  if (sequence_parallel && layout.layout.tp > 1) {
    settings.emplace_back("sequence_parallel", on);
    // Of a boundary alone only the one side is planned: the other stays as it is by default.
    const bool gathers_serial = all_serial(layout, {"qkv", "fc1", "ag_gemm"});
    const bool reduces_serial = all_serial(layout, {"proj", "fc2", "gemm_rs"});
    const bool serial =
        rows.empty() ? gathers_serial && reduces_serial : gathers_serial || reduces_serial;
    if (!serial) {
      for (const BoundaryPlan& boundary : layout.boundaries) {
        const std::string& schedule = boundary.figures.schedule;
        if (schedule == "serial" || schedule.starts_with("te.")) continue;
        if (rows.empty() && ub_products(boundary.figures.boundary).empty()) continue;
        result.remarks.push_back(fmt::format(
            "{}: the pick, {}, is not one of Transformer Engine's methods, whose own the switch "
            "turns on",
            boundary.figures.boundary, schedule));
      }
      settings.emplace_back(nemo ? "ub_tp_comm_overlap" : "tp_comm_overlap", on);
      if (rows.empty())
        result.remarks.push_back(
            fmt::format("methods and their settings are in the file of te-yaml, for {}",
                        nemo ? "model.ub_tp_comm_overlap_cfg" : "--tp-comm-overlap-cfg"));
      if (gathers_serial)
        settings.emplace_back(nemo ? "tp_comm_overlap_ag" : "disable_tp_comm_overlap_ag",
                              nemo ? "False" : "");
      if (reduces_serial)
        settings.emplace_back(nemo ? "tp_comm_overlap_rs" : "disable_tp_comm_overlap_rs",
                              nemo ? "False" : "");
    }
  } else if (layout.layout.tp > 1) {
    result.remarks.emplace_back(
        "without sequence parallelism Megatron-LM overlaps no TP communication");
  }
  for (const std::string& line : header_of(plan)) result.text += fmt::format("# {}\n", line);
  if (!rows.empty())
    result.text += fmt::format(
        "# one boundary has no layout: this one {} rows of the sequence, which is sequence "
        "parallelism\n",
        rows);
  // Megatron-LM asserts this for tensor parallelism before Blackwell: launch order is what overlaps.
  if (!nemo && layout.layout.tp > 1) result.text += "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
  if (!nemo) result.text += "ARGS=(\n";
  for (auto& [name, value] : settings) {
    if (nemo) {
      result.text += fmt::format("model.{}={}\n", name, value);
      continue;
    }
    std::replace(name.begin(), name.end(), '_', '-');
    result.text +=
        value.empty() ? fmt::format("    --{}\n", name) : fmt::format("    --{} {}\n", name, value);
  }
  if (!nemo) result.text += ")\n";
  return result;
}

/// What NCCL calls a knob's value; nothing where the knob is at NCCL's own choice, or NCCL has no such
/// thing.
std::optional<std::string> nccl_value(const std::string& variable, const KnobValue& value) {
  const std::string word = to_text(value);
  if (word == "auto" || word == "default") return std::nullopt;
  if (variable == "NCCL_CTA_POLICY") return word == "zero" ? "2" : word;
  return word;
}

/// Variables that every pick that has them agrees on; a pick that leaves one to NCCL disagrees.
Exported nccl_environment(const Plan& plan, const LayoutPlan& layout) {
  Exported result;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> variables;
  bool wanted = false;
  for (const BoundaryPlan& boundary : layout.boundaries) {
    const Schedule* schedule = find_schedule(boundary.figures.schedule);
    if (schedule == nullptr) continue;
    for (const KnobSpec& spec : schedule->info().knobs) {
      if (!spec.system_name.starts_with("NCCL_")) continue;
      for (const auto& [name, value] : boundary.figures.knobs.values()) {
        if (name != spec.name) continue;
        variables[spec.system_name][nccl_value(spec.system_name, value).value_or("")].push_back(
            boundary.figures.boundary);
      }
    }
  }
  std::vector<NcclSetting> settings;
  for (const auto& [name, values] : variables) {
    const std::string& value = values.begin()->first;
    wanted = wanted || values.size() > 1 || !value.empty();
    if (values.size() > 1) {
      std::vector<std::string> wishes;
      for (const auto& [each, boundaries] : values) {
        wishes.push_back(fmt::format("{} for {}", each.empty() ? "NCCL's own choice" : each,
                                     fmt::join(boundaries, ", ")));
      }
      result.remarks.push_back(
          fmt::format("{} is one for the whole process, and the picks want {}: not set", name,
                      fmt::join(wishes, " and ")));
    } else if (!value.empty()) {
      const std::vector<NcclFault> faults = faults_of({NcclSetting{name, value}});
      if (faults.empty()) {
        settings.push_back({name, value});
      } else {
        result.remarks.push_back(fmt::format("{}: not set", faults.front().what));
      }
    }
  }
  if (!wanted) result.remarks.emplace_back("no pick needs a setting of NCCL");
  result.text = to_nccl_environment(settings, header_of(plan));
  result.empty = settings.empty();
  return result;
}

Exported vllm_config(const Plan& plan) {
  if (!std::holds_alternative<ModelScenario>(plan.scenario.what)) {
    throw config::ConfigErrors(config::ConfigError{plan.scenario.file, 0, 0, "",
                                                   "vLLM's thresholds are of a model, and this is "
                                                   "one boundary",
                                                   ""});
  }
  Exported result;
  const VllmOverlap overlap = vllm_overlap_of(plan, result.remarks);
  result.text = to_vllm_config(overlap, header_of(plan));
  return result;
}

}  // namespace

const std::vector<ExportFormatName>& export_formats() {
  static const std::vector<ExportFormatName> formats = {
      {"te-yaml", ExportFormat::te_yaml, "--tp-comm-overlap-cfg of Megatron-LM"},
      {"ub-cfgs", ExportFormat::ub_cfgs, "ub_cfgs of Transformer Engine's initialize_ub"},
      {"megatron", ExportFormat::megatron, "arguments of Megatron-LM"},
      {"nemo", ExportFormat::nemo, "Hydra overrides of NeMo"},
      {"nccl-env", ExportFormat::nccl_env, "environment of NCCL"},
      {"flux", ExportFormat::flux, "tuning entries of FLUX, for Hopper"},
      {"vllm", ExportFormat::vllm, "--config of vLLM: async TP and from how many tokens"},
  };
  return formats;
}

std::vector<std::string> schedules_of(ExportFormat format) {
  std::string_view prefix = "te.";
  if (format == ExportFormat::vllm) return {};
  if (format == ExportFormat::flux) prefix = "flux.";
  if (format == ExportFormat::nccl_env) prefix = "nccl.";
  std::vector<std::string> names = {"serial"};
  for (const Schedule* schedule : all_schedules()) {
    if (schedule->info().name.starts_with(prefix)) names.push_back(schedule->info().name);
  }
  return names;
}

std::vector<std::string> header_of(const Plan& plan) {
  const LayoutPlan& layout = plan.layouts.front();
  const Lock lock =
      lock_of(plan, std::filesystem::path(plan.scenario.file).parent_path() / "plan.lock.json");
  std::vector<std::string> lines = {
      fmt::format("weft plan {}", config::fingerprint(to_value(lock))),
      fmt::format("scenario: {}", plan.scenario.name)};
  if (!plan.model_name.empty()) {
    lines.push_back(fmt::format("layout: {}", to_text(layout.layout)));
    lines.push_back(
        fmt::format("predicted: {} a step, {} without overlap", layout.step, layout.serial_step));
  }
  for (const BoundaryPlan& boundary : layout.boundaries) {
    const Duration gain = boundary.serial.overlapped - boundary.figures.figures.overlapped;
    lines.push_back(fmt::format("{}: {}, predicted gain {}", boundary.figures.boundary,
                                pick_words(boundary), gain));
  }
  lines.push_back(
      plan.band.known()
          ? fmt::format("in nine of ten cases like it {:.2f} to {:.2f} of what is predicted{}",
                        plan.band.low, plan.band.high,
                        plan.band.source.kind == SourceKind::assumed
                            ? fmt::format(" (assumed: {})", plan.band.source.reference)
                            : "")
          : fmt::format("how far off predictions may be is not known ({})",
                        plan.band.source.reference));
  for (std::string& line : lines) std::replace(line.begin(), line.end(), '\n', ' ');
  return lines;
}

Exported export_plan(const Plan& plan, ExportFormat format) {
  WEFT_CHECK(!plan.layouts.empty(), "a plan of {} without a layout is exported",
             plan.scenario.name);
  const LayoutPlan& layout = plan.layouts.front();
  if (format == ExportFormat::megatron) return arguments(plan, layout, false);
  if (format == ExportFormat::nemo) return arguments(plan, layout, true);
  if (format == ExportFormat::nccl_env) return nccl_environment(plan, layout);
  if (format == ExportFormat::vllm) return vllm_config(plan);
  Exported result;
  if (format == ExportFormat::flux) {
    const std::vector<FluxEntry> entries = flux_entries_of(plan, result.remarks);
    result.text = to_flux_tuning(entries, header_of(plan));
    result.empty = entries.empty();
    return result;
  }
  const std::vector<UbGemm> gemms = overlap_of(layout, result.remarks);
  result.text = format == ExportFormat::te_yaml ? to_tp_overlap_yaml(gemms, header_of(plan))
                                                : to_ub_cfgs(gemms, header_of(plan));
  result.empty = gemms.empty();
  return result;
}

}  // namespace weft::model
