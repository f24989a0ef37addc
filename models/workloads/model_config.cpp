// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/model_config.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/core.h>

#include "sim/units/integer.hpp"

namespace weft::model {

std::int64_t window_of(const ModelConfig& model, std::int64_t layer) {
  return model.windows.empty() ? 0 : model.windows.at(static_cast<std::size_t>(layer));
}

ModelConfig at_width(const ModelConfig& model, std::int64_t hidden, std::int64_t granule) {
  ModelConfig result = model;
  const std::int64_t queries = checked_multiply(hidden, model.heads);
  result.heads = queries / model.hidden;
  const bool grouped = model.kv_heads != model.heads;
  if (hidden < 1 || queries % model.hidden != 0 ||
      (grouped && result.heads % model.kv_heads != 0)) {
    throw std::domain_error(
        fmt::format("{} is no width for heads of {} in groups of {}: its own is {} with {} heads",
                    hidden, model.head_dim, model.kv_heads, model.hidden, model.heads));
  }
  result.hidden = hidden;
  if (!grouped) result.kv_heads = result.heads;
  const std::int64_t ffn = narrow(Int128{model.ffn} * hidden / model.hidden);
  result.ffn = std::max<std::int64_t>(1, (ffn + granule / 2) / granule) * granule;
  result.name = fmt::format("{} at width {}", model.name, hidden);
  return result;
}

ParameterCount parameters_of(const ModelConfig& model) {
  const std::int64_t h = model.hidden;
  const std::int64_t queries = checked_multiply(model.heads, model.head_dim);
  const std::int64_t qkv = checked_multiply(model.heads + 2 * model.kv_heads, model.head_dim);
  const std::int64_t fc1 = (model.gated_mlp ? 2 : 1) * model.ffn;
  const std::int64_t norm = model.norm == NormKind::layer_norm ? 2 * h : h;

  ParameterCount count;
  const std::int64_t positions = model.positions == PositionKind::learned ? model.max_positions : 0;
  count.embedding = checked_multiply(model.vocab + positions, h);

  std::int64_t matrices = checked_multiply(qkv + queries, h);
  matrices = checked_add(matrices, checked_multiply(fc1 + model.ffn, h));
  const std::int64_t biases = (model.qkv_bias ? qkv : 0) + (model.attention_out_bias ? h : 0) +
                              (model.mlp_bias ? fc1 + h : 0);
  const std::int64_t norms =
      (model.norm_after ? 4 : 2) * norm + (model.qk_norm ? 2 * model.head_dim : 0);
  count.block = checked_add(matrices, biases + norms);
  count.blocks = checked_multiply(count.block, model.layers);

  count.head = norm + (model.tied_embeddings ? 0 : checked_multiply(model.vocab, h));
  count.total = checked_add(checked_add(count.embedding, count.blocks), count.head);
  return count;
}

}  // namespace weft::model
