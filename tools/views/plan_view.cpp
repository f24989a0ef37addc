// SPDX-License-Identifier: Apache-2.0
#include "tools/views/plan_view.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/format.hpp"
#include "tools/views/figures_view.hpp"

namespace weft::tool {
namespace {

using config::Value;

const char* name_of_order(model::RankOrder order) {
  return order == model::RankOrder::packed ? "packed" : "scattered";
}

std::string name_of_layout(const model::ParallelLayout& layout, model::RankOrder order,
                           std::int64_t nodes) {
  std::string text = model::to_text(layout);
  if (nodes > 1) text += fmt::format(" over {} nodes, {}", nodes, name_of_order(order));
  return text;
}

std::string knob_text(const model::Knobs& knobs) {
  return knobs.values().empty() ? "-" : knobs.to_text();
}

void describe_layouts(const model::Plan& plan, std::string& text) {
  text += fmt::format("{:<42}{:>11}{:>11}{:>9}{:>14}{:>7}{:>11}\n", "layout", "step", "serial",
                      "gain", "tokens/s/GPU", "MFU", "memory");
  for (const model::LayoutPlan& layout : plan.layouts) {
    const double gain =
        layout.serial_step == Duration() ? 0 : 1 - ratio(layout.step, layout.serial_step);
    text += fmt::format("{:<42}{:>11}{:>11}{:>8.1f}%{:>14.0f}{:>6.1f}%{:>11}\n",
                        name_of_layout(layout.layout, layout.order, layout.nodes), layout.step,
                        layout.serial_step, 100 * gain, layout.tokens_per_second_per_gpu,
                        100 * layout.mfu, model::total_of(layout.memory));
  }
  if (plan.layouts.size() > 1) {
    const model::LayoutPlan& best = plan.layouts.front();
    const model::LayoutPlan& worst = plan.layouts.back();
    text += fmt::format(
        "{} is {:.2f}x of {}\n", name_of_layout(worst.layout, worst.order, worst.nodes),
        ratio(worst.step, best.step), name_of_layout(best.layout, best.order, best.nodes));
  }
  for (const model::RefusedLayout& refused : plan.refused) {
    text += fmt::format("{}: {}\n", name_of_layout(refused.layout, refused.order, 1),
                        fmt::join(refused.reasons, "; "));
  }
}

void describe_boundary(const model::BoundaryPlan& boundary, int top, std::string& text) {
  text += fmt::format("\n{} ({} in the model): {}", boundary.boundary.name, boundary.occurrences,
                      boundary.figures.schedule);
  if (!boundary.figures.knobs.values().empty())
    text += fmt::format(" {}", boundary.figures.knobs.to_text());
  text += fmt::format("\n  {}\n", boundary.reason);
  for (const model::BoundaryCollective& each : boundary.boundary.collectives) {
    text += fmt::format("  moves: {} of {} among {} ranks, {} over each rank's wire\n",
                        name_of(each.op), each.message, each.group,
                        wire_bytes(each.op, each.message, each.group));
  }
  text += describe(boundary.figures.figures, boundary.band);
  if (boundary.attribution) text += describe(*boundary.attribution);
  int listed = 0;
  for (const model::Candidate& candidate : boundary.best) {
    if (listed++ == top) break;
    text += fmt::format("  {:>2}. {:>11}  {} {}\n", listed, candidate.figures.overlapped,
                        candidate.choice.schedule->info().name, knob_text(candidate.choice.knobs));
  }
  text += fmt::format("  space {} = {} simulated + {} equivalent + {} pruned by bounds; {} illegal",
                      boundary.count.space, boundary.count.simulated, boundary.count.equivalent,
                      boundary.count.pruned, boundary.illegal);
  if (boundary.deadlocks > 0) text += fmt::format("; {} would deadlock", boundary.deadlocks);
  text += "\n";
}

Value value_of(const model::SearchCount& count) {
  return Value::object({{"space", count.space},
                        {"simulated", count.simulated},
                        {"equivalent", count.equivalent},
                        {"pruned", count.pruned}});
}

Value value_of(const model::BoundaryPlan& boundary) {
  Value object = to_value(boundary.figures);
  add_collectives(boundary.boundary, boundary.figures.knobs, object);
  object.set("error_band", to_value(boundary.band));
  object.set("occurrences", boundary.occurrences).set("reason", boundary.reason);
  Value best = Value::array();
  for (const model::Candidate& candidate : boundary.best) {
    Value each = Value::object({{"schedule", candidate.choice.schedule->info().name}});
    each.set("knobs", to_value(candidate.choice.knobs))
        .set("overlapped_ps", candidate.figures.overlapped.ps());
    best.push(std::move(each));
  }
  object.set("candidates", std::move(best)).set("search", value_of(boundary.count));
  object.set("illegal", boundary.illegal).set("deadlocks", boundary.deadlocks);
  if (boundary.attribution) object.set("attribution", to_value(*boundary.attribution));
  return object;
}

Value value_of(const model::LayoutPlan& layout) {
  Value object =
      Value::object({{"layout", name_of_layout(layout.layout, layout.order, layout.nodes)},
                     {"tp", layout.layout.tp},
                     {"sequence_parallel", layout.layout.sequence_parallel},
                     {"replicas", layout.layout.replicas},
                     {"placement", name_of_order(layout.order)},
                     {"nodes", layout.nodes},
                     {"step_ps", layout.step.ps()},
                     {"serial_step_ps", layout.serial_step.ps()},
                     {"tokens_per_second_per_gpu", layout.tokens_per_second_per_gpu},
                     {"mfu", layout.mfu}});
  Value memory = Value::object();
  const model::MemoryUse& use = layout.memory;
  memory.set("weights_bytes", use.weights.count()).set("gradients_bytes", use.gradients.count());
  memory.set("optimizer_bytes", use.optimizer.count())
      .set("activations_bytes", use.activations.count());
  memory.set("kv_cache_bytes", use.kv_cache.count())
      .set("communication_bytes", use.communication.count());
  memory.set("total_bytes", model::total_of(layout.memory).count());
  object.set("memory", std::move(memory));
  Value boundaries = Value::array();
  for (const model::BoundaryPlan& boundary : layout.boundaries) boundaries.push(value_of(boundary));
  object.set("boundaries", std::move(boundaries));
  Value layers = Value::array();
  for (const model::LayerPlan& layer : layout.layers) {
    Value each = Value::object({{"name", layer.name},
                                {"count", layer.count},
                                {"picks_win", layer.picks_win},
                                {"sum_of_gains_ps", layer.sum_of_gains.ps()}});
    add_figures(layer.picks, each);
    layers.push(std::move(each));
  }
  object.set("layers", std::move(layers));
  Value notes = Value::array();
  for (const std::string& note : layout.notes) notes.push(note);
  object.set("notes", std::move(notes));
  return object;
}

}  // namespace

void add_collectives(const model::Boundary& boundary, const model::Knobs& knobs, Value& object) {
  const std::int64_t chunks = knobs.has("chunks") ? knobs.count("chunks") : 1;
  Value list = Value::array();
  for (const model::BoundaryCollective& each : boundary.collectives) {
    list.push(
        Value::object({{"name", each.name},
                       {"op", name_of(each.op)},
                       {"ranks", each.group},
                       {"message_bytes", each.message.count()},
                       {"chunk_bytes", divide_up(each.message.count(), chunks)},
                       {"wire_bytes", wire_bytes(each.op, each.message, each.group).count()}}));
  }
  object.set("collectives", std::move(list));
}

std::string describe_boundaries(const std::vector<model::BoundaryFigures>& boundaries) {
  std::string text = fmt::format("{:<22}{:<12}{:>11}{:>11}{:>11}{:>9}{:>9}\n", "boundary",
                                 "schedule", "D", "serial", "exposed", "hidden", "speed-up");
  for (const model::BoundaryFigures& boundary : boundaries) {
    const model::Figures& f = boundary.figures;
    text += fmt::format("{:<22}{:<12}{:>11}{:>11}{:>11}{:>9}{:>9}\n", boundary.boundary,
                        boundary.schedule, f.overlapped, f.serial, f.exposed(),
                        percent(f.hidden_ratio()),
                        f.speedup() ? fmt::format("{:.3f}x", *f.speedup()) : "-");
  }
  return text;
}

std::string describe(const model::Plan& plan, int top) {
  std::string text = plan.scenario.name + ": ";
  text += plan.model_name.empty() ? plan.machine_name
                                  : fmt::format("{} on {}", plan.model_name, plan.machine_name);
  text += "\n";
  if (plan.scenario.cost_model != model::CostModel::profile) {
    text += fmt::format("priced by {}: {}\n", name_of(plan.scenario.cost_model),
                        meaning_of(plan.scenario.cost_model));
  }
  text += describe_notes(plan.notes);
  if (!plan.model_name.empty()) describe_layouts(plan, text);
  if (plan.layouts.empty()) return text + "nothing fits\n";
  const model::LayoutPlan& best = plan.layouts.front();
  if (!plan.model_name.empty()) {
    text += fmt::format("\nthe pick: {}\n", name_of_layout(best.layout, best.order, best.nodes));
    for (const model::LayerPlan& layer : best.layers) {
      text += fmt::format("  {:>3} x {:<10}{:>12} of the picks, {} serial, {} exposed\n",
                          layer.count, layer.name, layer.picks.overlapped, layer.serial.overlapped,
                          layer.picks.exposed());
    }
    text += describe_band("a step", best.step, plan.band);
    for (const std::string& note : best.notes) text += fmt::format("  ! {}\n", note);
  }
  for (const model::BoundaryPlan& boundary : best.boundaries)
    describe_boundary(boundary, top, text);
  text += fmt::format("\nspace {} = {} simulated + {} equivalent + {} pruned, in {} ms\n",
                      plan.count.space, plan.count.simulated, plan.count.equivalent,
                      plan.count.pruned, plan.elapsed_ms);
  if (!plan.assumed.empty()) {
    text += fmt::format("{} numbers of machine and profile are assumed; --format json lists them\n",
                        plan.assumed.size());
  }
  return text;
}

Value to_value(const model::Plan& plan) {
  Value object = Value::object({{"schema", "weft.plan/1"},
                                {"name", plan.scenario.name},
                                {"machine", plan.machine_name},
                                {"model", plan.model_name},
                                {"cost_model", name_of(plan.scenario.cost_model)},
                                {"fits", !plan.layouts.empty()},
                                {"space", plan.count.space},
                                {"simulated", plan.count.simulated},
                                {"equivalent", plan.count.equivalent},
                                {"pruned", plan.count.pruned},
                                {"elapsed_ms", plan.elapsed_ms}});
  if (!plan.layouts.empty()) {
    Value boundaries = Value::array();
    for (const model::BoundaryPlan& boundary : plan.layouts.front().boundaries)
      boundaries.push(value_of(boundary));
    object.set("boundaries", std::move(boundaries));
  }
  Value layouts = Value::array();
  for (const model::LayoutPlan& layout : plan.layouts) layouts.push(value_of(layout));
  object.set("layouts", std::move(layouts));
  Value refused = Value::array();
  for (const model::RefusedLayout& layout : plan.refused) {
    Value reasons = Value::array();
    for (const std::string& reason : layout.reasons) reasons.push(reason);
    refused.push(Value::object({{"layout", name_of_layout(layout.layout, layout.order, 1)},
                                {"reasons", std::move(reasons)}}));
  }
  object.set("refused", std::move(refused));
  object.set("error_band", to_value(plan.band));
  object.set("assumed", to_value(plan.assumed));
  object.set("notes", to_value(plan.notes));
  add_config(plan.config, object);
  return object;
}

}  // namespace weft::tool
