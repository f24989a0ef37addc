// SPDX-License-Identifier: Apache-2.0
#include "models/planner/effective_config.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/fingerprint.hpp"
#include "models/import/launch_args.hpp"
#include "models/planner/ground.hpp"
#include "models/planner/scenario_names.hpp"

namespace weft::model {
namespace {

using config::to_value;
using config::Value;

std::string bare(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

template <class T>
void set_if(Value& object, std::string_view key, const std::optional<T>& item) {
  if (item) object.set(key, to_value(*item));
}

Value value_of(const PipelineScenario& pipeline) {
  Value object = Value::object({{"chunks", pipeline.chunks},
                                {"compute", to_value(pipeline.compute)},
                                {"communication", to_value(pipeline.communication)},
                                {"dependency", to_value(pipeline.dependency)},
                                {"communication_first", pipeline.communication_first}});
  if (pipeline.interference) {
    Value inner = Value::object();
    set_if(inner, "compute", pipeline.interference->compute);
    set_if(inner, "communication", pipeline.interference->communication);
    object.set("interference", std::move(inner));
  }
  if (pipeline.claim) {
    const Claim& claim = *pipeline.claim;
    Value inner = Value::object({{"system", claim.system},
                                 {"source", claim.source},
                                 {"serial", to_value(claim.serial)},
                                 {"serial_communication", claim.serial_communication},
                                 {"fused", to_value(claim.fused)}});
    set_if(inner, "fused_communication", claim.fused_communication);
    set_if(inner, "utilisation_before", claim.utilisation_before);
    set_if(inner, "utilisation_after", claim.utilisation_after);
    set_if(inner, "throughput_gain", claim.throughput_gain);
    object.set("claim", std::move(inner));
  }
  return object;
}

Value value_of(const BoundaryScenario& boundary) {
  Value object = Value::object({{"operator", to_value(boundary.kind)},
                                {"M", boundary.global.m},
                                {"N", boundary.global.n},
                                {"K", boundary.global.k},
                                {"dtype", to_value(boundary.format.element)},
                                {"ranks", boundary.ranks},
                                {"placement", to_value(boundary.order)},
                                {"machine", bare(boundary.machine)}});
  if (boundary.profile) object.set("profile", bare(*boundary.profile));
  set_if(object, "schedule", boundary.schedule);
  if (boundary.schedule) object.set("knobs", model::to_value(boundary.knobs));
  return object;
}

std::string text_of(const LayoutChoice& layout) {
  if (layout.search) return "search";
  std::string text;
  for (const int tp : layout.tp) text += fmt::format("tp={}", tp);
  for (const bool sequence : layout.sequence_parallel) text += sequence ? " sp" : "";
  for (const RankOrder order : layout.orders)
    text += order == RankOrder::scattered ? " scattered" : "";
  return text;
}

Value value_of(const ModelScenario& model) {
  const WorkloadSpec& work = model.work;
  const bool decodes = work.phase == Phase::decode;
  Value object =
      Value::object({{"model", bare(model.model)},
                     {"machine", bare(model.machine)},
                     {"ranks", model.ranks},
                     {"phase", to_value(work.phase)},
                     {"tokens", decodes ? work.sequences : work.sequences * work.new_tokens},
                     {"sequence", decodes ? work.context_tokens : work.new_tokens},
                     {"dtype", to_value(work.formats.matmul_input.element)},
                     {"kv_cache", to_value(work.formats.kv_cache.element)},
                     {"recompute", to_value(work.recompute)},
                     {"objective", to_value(model.objective)},
                     {"layout", text_of(model.layout)}});
  if (model.profile) object.set("profile", bare(*model.profile));
  object.set("training",
             Value::object({{"master_weights", to_value(model.optimizer.master)},
                            {"moments", to_value(model.optimizer.moments)},
                            {"gradients", to_value(work.formats.weight_gradients.element)},
                            {"zero", model.optimizer.zero},
                            {"microbatches_in_flight", model.optimizer.microbatches_in_flight}}));
  object.set("schedules", to_value(model.schedules));
  return object;
}

std::string print_of(const std::filesystem::path& file, config::Dialect dialect) {
  if (dialect == config::Dialect::tolerant && is_launch_file(file))
    return config::fingerprint(
        std::string_view(config::read_text(file, config::ParseOptions().max_size)));
  return config::fingerprint(config::Document::load(file, {.dialect = dialect}).root());
}

void add_ground(EffectiveConfig& result, const std::string& machine,
                const std::optional<std::string>& profile, const config::SearchPath& search) {
  const config::Document document = config::Document::load(machine);
  const auto text = [&](std::string_view key) {
    const Value* value = document.root().find(key);
    return value != nullptr && value->is_string() ? value->as_string() : "";
  };
  std::string print = config::fingerprint(document.root());
  if (const auto device = config::resolve(text("device"), machine, search).file)
    print =
        config::fingerprint(std::string_view(print + print_of(*device, config::Dialect::strict)));
  result.parts.emplace_back("machine", print);
  result.parts.emplace_back("profile",
                            print_of(profile ? std::filesystem::path(*profile)
                                             : find_profile(text("profile"), machine, search),
                                     config::Dialect::strict));
}

}  // namespace

std::string EffectiveConfig::hash() const {
  std::string all;
  for (const auto& [name, print] : parts) all += name + "=" + print + ";";
  return config::fingerprint(std::string_view(all));
}

Value to_value(const Knobs& knobs) {
  Value object = Value::object();
  for (const auto& [name, value] : knobs.values()) {
    if (const auto* count = std::get_if<std::int64_t>(&value)) {
      object.set(name, *count);
    } else {
      object.set(name, std::get<std::string>(value));
    }
  }
  return object;
}

Value to_value(const Scenario& scenario) {
  Value object = Value::object({{"schema", "weft.scenario/1"},
                                {"name", scenario.name},
                                {"fidelity", to_value(scenario.fidelity)}});
  if (scenario.cost_model != CostModel::profile)
    object.set("cost_model", to_value(scenario.cost_model));
  if (const auto* pipeline = std::get_if<PipelineScenario>(&scenario.what))
    object.set("pipeline", value_of(*pipeline));
  if (const auto* boundary = std::get_if<BoundaryScenario>(&scenario.what))
    object.set("boundary", value_of(*boundary));
  if (const auto* model = std::get_if<ModelScenario>(&scenario.what))
    object.set("model", value_of(*model));
  Value overrides = Value::array();
  for (const topology::Override& change : scenario.overrides) {
    const double speed = static_cast<double>(change.speed_permille) / 1000;
    const bool is_rank =
        change.part.starts_with("rank") && change.part.find('.') == std::string::npos;
    overrides.push(
        is_rank ? Value::object({{"rank", std::stoi(change.part.substr(4))}, {"speed", speed}})
                : Value::object({{"link", change.part}, {"speed", speed}}));
  }
  object.set("overrides", std::move(overrides));
  return object;
}

EffectiveConfig effective_config(const Scenario& scenario, const config::SearchPath& search) {
  EffectiveConfig result;
  result.scenario = to_value(scenario);
  result.parts.emplace_back("scenario", config::fingerprint(result.scenario));
  if (const auto* boundary = std::get_if<BoundaryScenario>(&scenario.what))
    add_ground(result, boundary->machine, boundary->profile, search);
  if (const auto* model = std::get_if<ModelScenario>(&scenario.what)) {
    add_ground(result, model->machine, model->profile, search);
    result.parts.emplace_back("model", print_of(model->model, config::Dialect::tolerant));
  }
  return result;
}

std::vector<std::string> changed_parts(
    const std::vector<std::pair<std::string, std::string>>& before,
    const std::vector<std::pair<std::string, std::string>>& now) {
  std::vector<std::string> changed;
  for (const auto& part : now) {
    if (std::find(before.begin(), before.end(), part) == before.end())
      changed.push_back(part.first);
  }
  for (const auto& [name, print] : before) {
    const auto same = [&, key = std::string_view(name)](const auto& part) {
      return part.first == key;
    };
    if (std::none_of(now.begin(), now.end(), same)) changed.push_back(name);
  }
  return changed;
}

}  // namespace weft::model
