// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/activation_memory.hpp"

#include <algorithm>

#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

/// Element counts of one layer's tensors on one rank.
struct Widths {
  std::int64_t tokens;      ///< of the microbatch
  std::int64_t own_tokens;  ///< of this rank, outside products
  std::int64_t q;           ///< features of its query heads
  std::int64_t kv;          ///< of its key heads; its value heads have as many
  std::int64_t fc1;
  std::int64_t ffn;

  Widths(const ModelConfig& model, const ParallelLayout& layout, const WorkloadSpec& spec)
      : tokens(tokens_of(spec)),
        own_tokens(layout.sequence_parallel ? divide_up(tokens, layout.tp) : tokens),
        q(divide_up(model.heads * model.head_dim, layout.tp)),
        kv(divide_up(kept_kv_heads(model, layout) * model.head_dim, layout.tp)),
        fc1(divide_up((model.gated_mlp ? 2 : 1) * model.ffn, layout.tp)),
        ffn(divide_up(model.ffn, layout.tp)) {}
};

/// Softmax output, and with dropout its mask and what it leaves: 2as^2b, as^2b, 2as^2b.
Bytes scores(const ModelConfig& model, const ParallelLayout& layout, const WorkloadSpec& spec) {
  const std::int64_t elements =
      checked_multiply(checked_multiply(spec.sequences * spec.new_tokens, spec.new_tokens),
                       divide_up(model.heads, layout.tp));
  const Bytes softmax = bytes_of(spec.formats.activations, elements);
  return model.dropout ? softmax * 2 + Bytes::from(elements) : softmax;
}

}  // namespace

Bytes kept_activations_of_layer(const ModelConfig& model, const ParallelLayout& layout,
                                const WorkloadSpec& spec) {
  const Widths w(model, layout, spec);
  const TensorFormat& plain = spec.formats.activations;
  const TensorFormat& input = spec.formats.matmul_input;
  const std::int64_t stream = checked_multiply(w.own_tokens, model.hidden);
  if (spec.recompute == Recompute::full) return bytes_of(plain, stream);

  Bytes kept = bytes_of(plain, stream) * (model.norm_after ? 4 : 2);  // inputs of the norms
  kept += bytes_of(input, stream) * 2;                                // inputs of qkv and fc1
  if (model.dropout) kept += Bytes::from(stream) * 2;    // a byte an element of each mask
  kept += bytes_of(plain, w.tokens * (w.q + 2 * w.kv));  // q, k, v
  if (model.qk_norm) kept += bytes_of(plain, w.tokens * (w.q + w.kv));
  kept += bytes_of(input, w.tokens * w.q);    // input of proj
  kept += bytes_of(plain, w.tokens * w.fc1);  // input of the activation
  kept += bytes_of(input, w.tokens * w.ffn);  // input of fc2
  if (spec.recompute == Recompute::none) kept += scores(model, layout, spec);
  return kept;
}

Bytes kept_activations_of_ends(const ModelConfig& model, const ParallelLayout& layout,
                               const WorkloadSpec& spec) {
  const Widths w(model, layout, spec);
  const std::int64_t stream = checked_multiply(w.own_tokens, model.hidden);
  Bytes kept = bytes_of(spec.formats.activations, stream) * 2;
  if (model.dropout) kept += Bytes::from(stream);
  const std::int64_t logits = checked_multiply(w.tokens, padded_vocab(model, layout) / layout.tp);
  return kept + bytes_of(DType::fp32, logits);
}

Bytes working_activations(const ModelConfig& model, const ParallelLayout& layout,
                          const WorkloadSpec& spec) {
  const Widths w(model, layout, spec);
  const TensorFormat& plain = spec.formats.activations;
  const TensorFormat& input = spec.formats.matmul_input;
  const Bytes stream = bytes_of(plain, checked_multiply(w.own_tokens, model.hidden));
  const Bytes whole_input = bytes_of(input, checked_multiply(w.tokens, model.hidden));
  const Bytes attention = bytes_of(plain, w.tokens * (2 * w.q + 2 * w.kv));
  const Bytes mlp = bytes_of(plain, w.tokens * w.fc1) + bytes_of(input, w.tokens * w.ffn);
  const Bytes logits =
      bytes_of(plain, checked_multiply(spec.sequences, padded_vocab(model, layout)));
  return stream + whole_input + std::max({attention, mlp, logits});
}

}  // namespace weft::model
