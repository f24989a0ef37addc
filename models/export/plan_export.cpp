// SPDX-License-Identifier: Apache-2.0
// Names go through the registry: a schedule "te.<method>" is Transformer Engine's, and a knob whose
// system name is a setting of a system, or a variable of NCCL, is that.
#include "models/export/plan_export.hpp"

#include <algorithm>
#include <map>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/fingerprint.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/planner/lock.hpp"
#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

constexpr std::string_view kTransformerEngine = "te.";

/// Boundaries of a block by name, and the products of Transformer Engine that they are.
constexpr std::pair<std::string_view, std::string_view> kProducts[] = {
    {"qkv", "qkv_fprop"}, {"proj", "proj_fprop"}, {"fc1", "fc1_fprop"}, {"fc2", "fc2_fprop"}};

std::string pick_words(const BoundaryPlan& boundary) {
  const std::string knobs = boundary.figures.knobs.to_text();
  return knobs.empty() ? boundary.figures.schedule
                       : fmt::format("{} {}", boundary.figures.schedule, knobs);
}

std::string_view product_of(std::string_view boundary) {
  for (const auto& [name, product] : kProducts) {
    if (name == boundary) return product;
  }
  return {};
}

std::vector<UbGemm> overlap_of(const LayoutPlan& layout, std::vector<std::string>& remarks) {
  std::vector<UbGemm> gemms;
  for (const BoundaryPlan& boundary : layout.boundaries) {
    const std::string& name = boundary.figures.boundary;
    const std::string_view product = product_of(name);
    const Schedule* schedule = find_schedule(boundary.figures.schedule);
    if (product.empty() || schedule == nullptr) {
      remarks.push_back(fmt::format("{}: no product of Transformer Engine has this name", name));
      continue;
    }
    if (auto gemm = ub_gemm_of(product, schedule->info(), boundary.figures.knobs)) {
      gemms.push_back(std::move(*gemm));
    } else {
      remarks.push_back(
          fmt::format("{}: the pick, {}, is not one of Transformer Engine's methods; {} is "
                      "left at its default",
                      name, pick_words(boundary), product));
    }
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

Exported arguments(const Plan& plan, const LayoutPlan& layout, bool nemo) {
  Exported result;
  std::vector<std::pair<std::string, std::string>> settings;
  settings.emplace_back("tensor_model_parallel_size", std::to_string(layout.layout.tp));
  const std::string on = nemo ? "True" : "";
  if (layout.layout.sequence_parallel && layout.layout.tp > 1) {
    settings.emplace_back("sequence_parallel", on);
    const bool gathers_serial = all_serial(layout, {"qkv", "fc1"});
    const bool reduces_serial = all_serial(layout, {"proj", "fc2"});
    if (!gathers_serial || !reduces_serial) {
      settings.emplace_back(nemo ? "ub_tp_comm_overlap" : "tp_comm_overlap", on);
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

/// Variables that every pick that has them agrees on.
Exported nccl_environment(const Plan& plan, const LayoutPlan& layout) {
  Exported result;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> variables;
  for (const BoundaryPlan& boundary : layout.boundaries) {
    const Schedule* schedule = find_schedule(boundary.figures.schedule);
    if (schedule == nullptr) continue;
    for (const KnobSpec& spec : schedule->info().knobs) {
      if (!spec.system_name.starts_with("NCCL_") || !boundary.figures.knobs.has(spec.name))
        continue;
      for (const auto& [name, value] : boundary.figures.knobs.values()) {
        if (name == spec.name) {
          variables[spec.system_name][to_text(value)].push_back(boundary.figures.boundary);
        }
      }
    }
  }
  for (const std::string& line : header_of(plan)) result.text += fmt::format("# {}\n", line);
  for (const auto& [name, values] : variables) {
    if (values.size() == 1) {
      result.text += fmt::format("export {}={}\n", name, values.begin()->first);
      continue;
    }
    std::vector<std::string> wishes;
    for (const auto& [value, boundaries] : values) {
      wishes.push_back(fmt::format("{} for {}", value, fmt::join(boundaries, " and ")));
    }
    result.remarks.push_back(
        fmt::format("{} is one for the whole process, and the picks want {}: not set", name,
                    fmt::join(wishes, ", ")));
  }
  if (variables.empty()) result.remarks.emplace_back("no pick has a setting of NCCL");
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
  };
  return formats;
}

std::optional<UbGemm> ub_gemm_of(std::string_view product, const ScheduleInfo& schedule,
                                 const Knobs& knobs) {
  if (!schedule.name.starts_with(kTransformerEngine)) return std::nullopt;
  const std::string_view method = std::string_view(schedule.name).substr(kTransformerEngine.size());
  UbGemm gemm;
  gemm.name = product;
  bool known = false;
  for (const UbMethod each :
       {UbMethod::ring_exchange, UbMethod::pipeline, UbMethod::bulk, UbMethod::external}) {
    if (method != name_of(each)) continue;
    gemm.method = each;
    known = true;
  }
  if (!known) return std::nullopt;
  for (const KnobSpec& spec : schedule.knobs) {
    if (!knobs.has(spec.name)) continue;
    const auto& values = knobs.values();
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& each) { return each.first == spec.name; });
    const std::int64_t* count = std::get_if<std::int64_t>(&found->second);
    const std::string word = to_text(found->second);
    const std::string& setting = spec.system_name;
    const bool yes =
        (count != nullptr && *count != 0) || word == "on" || word == "yes" || word == "true";
    if (count != nullptr && setting == "num_sm") gemm.num_sm = *count;
    if (count != nullptr && setting == "cga_size") gemm.cga_size = *count;
    if (count != nullptr && setting == "num_splits") gemm.num_splits = *count;
    if (setting == "set_sm_margin") gemm.set_sm_margin = yes;
    if (setting == "aggregate") gemm.aggregate = yes;
    if (setting == "atomic_gemm") gemm.atomic_gemm = yes;
    if (setting == "use_ce") gemm.use_ce = yes;
    if (setting == "fp8_buf") gemm.fp8_buf = yes;
  }
  if (!faults_of(gemm).empty()) return std::nullopt;  // legal here, not there
  return gemm;
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
  lines.push_back(fmt::format("predictions are within {:.0f} % in nine of ten cases like it",
                              plan.band.fraction * 100));
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
  Exported result;
  const std::vector<UbGemm> gemms = overlap_of(layout, result.remarks);
  result.text = format == ExportFormat::te_yaml ? to_tp_overlap_yaml(gemms, header_of(plan))
                                                : to_ub_cfgs(gemms, header_of(plan));
  return result;
}

}  // namespace weft::model
