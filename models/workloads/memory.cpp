// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/memory.hpp"

#include <algorithm>

#include "models/workloads/activation_memory.hpp"
#include "sim/units/check.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

Bytes optimizer_bytes(std::int64_t parameters, const TensorFormat& weights,
                      const OptimizerSpec& optimizer) {
  Bytes states = bytes_of(optimizer.moments, parameters) * 2;
  if (optimizer.master != weights.element) states += bytes_of(optimizer.master, parameters);
  return states;
}

Bytes training_activations(const ModelConfig& model, const ParallelLayout& layout,
                           const WorkloadSpec& spec, const OptimizerSpec& optimizer) {
  Bytes kept = kept_activations_of_layer(model, layout, spec) * model.layers +
               kept_activations_of_ends(model, layout, spec);
  kept = kept * optimizer.microbatches_in_flight;
  // What is recomputed lives again, one layer at a time.
  WorkloadSpec everything = spec;
  everything.recompute = Recompute::none;
  return kept + kept_activations_of_layer(model, layout, everything) -
         kept_activations_of_layer(model, layout, spec);
}

}  // namespace

RankParameters rank_parameters(const ModelConfig& model, const ParallelLayout& layout) {
  const std::int64_t h = model.hidden;
  const std::int64_t qkv =
      divide_up((model.heads + 2 * kept_kv_heads(model, layout)) * model.head_dim, layout.tp);
  const std::int64_t q = divide_up(model.heads * model.head_dim, layout.tp);
  const std::int64_t fc1 = divide_up((model.gated_mlp ? 2 : 1) * model.ffn, layout.tp);
  const std::int64_t ffn = divide_up(model.ffn, layout.tp);
  const std::int64_t vocab = padded_vocab(model, layout) / layout.tp;
  const std::int64_t norm = model.norm == NormKind::layer_norm ? 2 * h : h;

  const std::int64_t biases = (model.qkv_bias ? qkv : 0) + (model.attention_out_bias ? h : 0) +
                              (model.mlp_bias ? fc1 + h : 0);
  const std::int64_t norms =
      (model.norm_after ? 4 : 2) * norm + (model.qk_norm ? 2 * model.head_dim : 0);
  const std::int64_t positions = model.positions == PositionKind::learned ? model.max_positions : 0;

  RankParameters count;
  count.products = checked_multiply(checked_multiply(qkv + q + fc1 + ffn, h), model.layers);
  count.others = checked_multiply(biases + norms, model.layers) + norm +
                 checked_multiply(vocab * (model.tied_embeddings ? 1 : 2) + positions, h);
  return count;
}

Bytes total_of(const MemoryUse& use) {
  return use.weights + use.gradients + use.optimizer + use.activations + use.kv_cache +
         use.communication;
}

Bytes kv_cache_bytes(const ModelConfig& model, const ParallelLayout& layout,
                     const WorkloadSpec& spec) {
  const std::int64_t length = spec.context_tokens + spec.new_tokens;
  const std::int64_t heads = divide_up(kept_kv_heads(model, layout), layout.tp);
  Bytes sum;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::int64_t window = window_of(model, layer);
    const std::int64_t kept = window == 0 ? length : std::min(window, length);
    sum += bytes_of(
        spec.formats.kv_cache,
        checked_multiply(checked_multiply(2 * spec.sequences, kept), heads * model.head_dim));
  }
  return sum;
}

Bytes communication_buffers(const Workload& workload) {
  Bytes largest;
  for (const Layer& layer : workload.layers) {
    for (const Boundary* boundary : boundaries_of(layer)) {
      Bytes messages;
      for (const BoundaryCollective& collective : boundary->collectives) {
        messages += collective.message;
      }
      largest = std::max(largest, messages);
    }
  }
  return largest * 2;
}

MemoryUse memory_of(const ModelConfig& model, const ParallelLayout& layout,
                    const WorkloadSpec& spec, const Workload& workload,
                    const OptimizerSpec& optimizer) {
  WEFT_CHECK(optimizer.zero >= 0 && optimizer.zero <= 3, "ZeRO has stages 0 to 3, not {}",
             optimizer.zero);
  const RankParameters parameters = rank_parameters(model, layout);
  MemoryUse use;
  use.weights = bytes_of(spec.formats.weights, parameters.products) +
                bytes_of(spec.formats.activations, parameters.others);
  use.communication = communication_buffers(workload);
  if (!trains(spec)) {
    use.activations = working_activations(model, layout, spec);
    use.kv_cache = kv_cache_bytes(model, layout, spec);
    return use;
  }
  const auto over_replicas = [&](Bytes bytes, int from_stage) {
    return optimizer.zero >= from_stage ? bytes / layout.replicas : bytes;
  };
  use.gradients = over_replicas(
      bytes_of(spec.formats.weight_gradients, parameters.products + parameters.others), 2);
  use.optimizer =
      over_replicas(optimizer_bytes(parameters.products, spec.formats.weights, optimizer) +
                        optimizer_bytes(parameters.others, spec.formats.activations, optimizer),
                    1);
  use.weights = over_replicas(use.weights, 3);
  use.activations = training_activations(model, layout, spec, optimizer);
  return use;
}

}  // namespace weft::model
