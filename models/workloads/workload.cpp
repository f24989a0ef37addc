// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/workload.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "models/layouts/derive.hpp"
#include "models/layouts/error.hpp"
#include "models/workloads/assemble.hpp"
#include "models/workloads/block.hpp"

namespace weft::model {
namespace {

class Planner {
 public:
  Planner(const ModelConfig& model, const ParallelLayout& layout, const WorkloadSpec& spec)
      : model_(model), spec_(spec), layout_(layout), mesh_(Mesh().with(Axis::tp, layout.tp)) {}

  Layer layer(const std::string& name, const PartFlow& part, std::int64_t count) {
    const Derivation derivation = derive(part.flow, mesh_);
    AttentionContext context;
    context.sequences = spec_.sequences;
    context.query_length = spec_.new_tokens;
    context.kv_length = spec_.context_tokens + spec_.new_tokens;
    context.kv_heads = kept_kv_heads(model_, layout_);
    context.window = part.window;
    context.uses_cache = spec_.phase == Phase::prefill || spec_.phase == Phase::decode;
    context.cache = spec_.formats.kv_cache;
    const auto parts = [&](std::size_t begin, std::size_t end) {
      return assemble(part.flow, derivation, begin, end, spec_.phase, context, part.touched);
    };

    Layer layer;
    layer.name = name;
    layer.phase = spec_.phase;
    layer.count = count;
    if (spec_.phase != Phase::backward) {
      layer.parts = parts(0, part.flow.nodes());
    } else {
      if (name.starts_with("block")) layer.parts = recomputed(parts(0, part.flow.backward_begin()));
      std::vector<LayerPart> backward = parts(part.flow.backward_begin(), part.flow.nodes());
      std::move(backward.begin(), backward.end(), std::back_inserter(layer.parts));
      collect_addends(part.flow, derivation, count);
    }
    for (LayerPart& each : layer.parts) {
      if (Boundary* boundary = std::get_if<Boundary>(&each)) boundary->layers = count;
    }
    return layer;
  }

  /// Gradients that are still addends after a layer's backward pass: those of its norms under SP.
  /// They are packed into one buffer and reduced once a step.
  std::optional<Layer> norm_gradients() const {
    if (addends_ == 0) return std::nullopt;
    const Dim all{"norm weights", addends_};
    const TensorFormat format = spec_.formats.weight_gradients;
    Dataflow flow;
    // As a weight it is not converted before it is packed.
    const TensorId in =
        flow.weight({"norm gradients", {all}, format}, Placements(Axis::tp, Placement::partial()));
    Node pack;
    pack.name = "norm_gradients";
    pack.rule = Rule::linear;
    pack.what = "pack";
    pack.inputs = {in};
    flow.place(flow.add(std::move(pack), {{"packed", {all}, format}}).front(), {});
    Layer layer;
    layer.name = "norm_gradients";
    layer.phase = spec_.phase;
    layer.parts = assemble(flow, derive(flow, mesh_), 0, flow.nodes(), spec_.phase, {}, {});
    return layer;
  }

 private:
  std::vector<LayerPart> recomputed(std::vector<LayerPart> forward) const {
    if (spec_.recompute == Recompute::none) return {};
    if (spec_.recompute == Recompute::selective) {
      std::erase_if(forward, [](const LayerPart& part) {
        const Operator* op = std::get_if<Operator>(&part);
        return op == nullptr || !std::holds_alternative<AttentionWork>(op->work);
      });
    }
    for (LayerPart& part : forward) rename(part);
    return forward;
  }

  static void rename(LayerPart& part) {
    if (Operator* op = std::get_if<Operator>(&part)) {
      op->name += ".again";
      return;
    }
    Boundary& boundary = std::get<Boundary>(part);
    boundary.name += ".again";
    for (Operator& op : boundary.operators) op.name += ".again";
    for (BoundaryCollective& collective : boundary.collectives) collective.name += ".again";
  }

  void collect_addends(const Dataflow& flow, const Derivation& derivation, std::int64_t count) {
    if (mesh_.size(Axis::tp) == 1) return;
    for (std::uint32_t i = 0; i < flow.values(); ++i) {
      const Value& value = flow.value(TensorId(i));
      const bool last = value.producer && value.consumers.empty() && !value.placed;
      if (last && derivation.values[i].on(Axis::tp).is_partial()) {
        addends_ += elements_of(value.tensor) * count;
      }
    }
  }

  const ModelConfig& model_;
  const WorkloadSpec& spec_;
  const ParallelLayout& layout_;
  Mesh mesh_;
  std::int64_t addends_ = 0;
};

/// How many layers there are of each window; one that exceeds the sequence is no window.
std::map<std::int64_t, std::int64_t> layers_by_window(const ModelConfig& model,
                                                      const WorkloadSpec& spec) {
  std::map<std::int64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::int64_t window = window_of(model, i);
    ++counts[window >= spec.context_tokens + spec.new_tokens ? 0 : window];
  }
  return counts;
}

void add(Totals& sum, const Operator& op) {
  sum.flops += op.flops;
  sum.read += op.read;
  sum.written += op.written;
}

}  // namespace

Workload build_workload(const ModelConfig& model, const ParallelLayout& layout,
                        const WorkloadSpec& spec) {
  if (const std::vector<std::string> problems = layout_problems(model, layout, spec);
      !problems.empty()) {
    throw LayoutError(
        model.name, model.name,
        fmt::format("{} at {}: {}", model.name, to_text(layout), fmt::join(problems, "; ")));
  }
  Planner planner(model, layout, spec);
  Workload workload;
  workload.model = model.name;
  workload.phase = spec.phase;
  workload.layers.push_back(planner.layer("embedding", embedding_flow(model, layout, spec), 1));
  for (const auto& [window, count] : layers_by_window(model, spec)) {
    workload.layers.push_back(planner.layer(window == 0 ? "block" : "block.window",
                                            block_flow(model, layout, spec, window), count));
  }
  workload.layers.push_back(planner.layer("head", head_flow(model, layout, spec), 1));
  if (spec.phase == Phase::backward) {
    std::reverse(workload.layers.begin(), workload.layers.end());
    if (auto layer = planner.norm_gradients()) workload.layers.push_back(std::move(*layer));
  }
  return workload;
}

std::vector<const Operator*> operators_of(const Layer& layer) {
  std::vector<const Operator*> operators;
  for (const LayerPart& part : layer.parts) {
    if (const Operator* op = std::get_if<Operator>(&part)) {
      operators.push_back(op);
    } else {
      for (const Operator& inside : std::get<Boundary>(part).operators) {
        operators.push_back(&inside);
      }
    }
  }
  return operators;
}

std::vector<const Boundary*> boundaries_of(const Layer& layer) {
  std::vector<const Boundary*> boundaries;
  for (const LayerPart& part : layer.parts) {
    if (const Boundary* boundary = std::get_if<Boundary>(&part)) boundaries.push_back(boundary);
  }
  return boundaries;
}

Totals totals_of(const Layer& layer) {
  Totals sum;
  for (const Operator* op : operators_of(layer)) add(sum, *op);
  for (const Boundary* boundary : boundaries_of(layer)) {
    for (const BoundaryCollective& collective : boundary->collectives) {
      sum.wire += wire_bytes(collective.op, collective.message, collective.group);
      ++sum.collectives;
    }
  }
  return sum;
}

Totals totals_of(const Workload& workload) {
  Totals sum;
  for (const Layer& layer : workload.layers) {
    const Totals one = totals_of(layer);
    sum.flops += one.flops * layer.count;
    sum.read += one.read * layer.count;
    sum.written += one.written * layer.count;
    sum.wire += one.wire * layer.count;
    sum.collectives += one.collectives * layer.count;
  }
  return sum;
}

}  // namespace weft::model
