// SPDX-License-Identifier: Apache-2.0
// What is asked of a model: a phase, its tokens, the formats of its tensors, and how it is spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/layouts/mesh.hpp"
#include "models/workloads/boundary.hpp"
#include "models/workloads/model_config.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

/// How the tensors of a step are stored; all bf16 unless said otherwise.
struct Formats {
  TensorFormat activations;   ///< residual stream, outputs of matrix products, q, k, v
  TensorFormat matmul_input;  ///< what enters a matrix product; norms and activations write it
  TensorFormat weights;
  TensorFormat kv_cache;
  TensorFormat gradients;  ///< of activations
  TensorFormat weight_gradients;
  friend bool operator==(const Formats&, const Formats&) = default;

  /// Every tensor in `dtype`; for 8 bits and fewer, products read it and write bf16 (fp8 with
  /// 128-element scales).
  static Formats of(DType dtype);
};

/// What the backward pass computes again instead of keeping (arXiv 2205.05198, section 5).
enum class Recompute : std::uint8_t { none, selective, full };

/// How one replica is spread: tp ranks, whose activations between products may be cut along tokens
/// (SP).
struct ParallelLayout {
  int tp = 1;
  bool sequence_parallel = false;
  int replicas = 1;  ///< equal copies of the model, each with tokens of its own
  friend bool operator==(const ParallelLayout&, const ParallelLayout&) = default;
};

/// "TP=8", "TP=8 SP", "TP=4 SP x 2 replicas".
std::string to_text(const ParallelLayout& layout);

struct WorkloadSpec {
  Phase phase = Phase::prefill;
  std::int64_t sequences = 1;
  std::int64_t new_tokens = 1;      ///< of each sequence; 1 in decode
  std::int64_t context_tokens = 0;  ///< of each sequence, in the KV cache already
  Formats formats;
  Recompute recompute = Recompute::none;
  friend bool operator==(const WorkloadSpec&, const WorkloadSpec&) = default;
};

/// Returns whether activations are kept for a backward pass.
constexpr bool trains(const WorkloadSpec& spec) {
  return spec.phase == Phase::forward || spec.phase == Phase::backward;
}

/// Returns the tokens that pass through the layers.
constexpr std::int64_t tokens_of(const WorkloadSpec& spec) {
  return spec.sequences * spec.new_tokens;
}

/// Returns everything that keeps `model` from being spread so, one sentence each; empty if nothing
/// does.
///
/// Query heads divide by tp; KV heads divide by tp or tp by them (then they are replicated); the
/// MLP's width divides by tp; under SP the tokens do. A vocabulary that does not divide is padded.
std::vector<std::string> layout_problems(const ModelConfig& model, const ParallelLayout& layout,
                                         const WorkloadSpec& spec);

/// Returns the KV heads that all ranks together keep and project: kv_heads, or tp if that is more.
constexpr std::int64_t kept_kv_heads(const ModelConfig& model, const ParallelLayout& layout) {
  return model.kv_heads < layout.tp ? layout.tp : model.kv_heads;
}

/// Returns the rows of the embedding and output matrices, padded to a multiple of tp.
constexpr std::int64_t padded_vocab(const ModelConfig& model, const ParallelLayout& layout) {
  return (model.vocab + layout.tp - 1) / layout.tp * layout.tp;
}

/// A layout and what keeps the model from it.
struct LayoutCandidate {
  ParallelLayout layout;
  std::vector<std::string> problems;  ///< empty: it can be run
  friend bool operator==(const LayoutCandidate&, const LayoutCandidate&) = default;
};

/// Returns every way to use all of `gpus`: each tp that divides them, without and with sequence
/// parallelism, the rest as replicas; greatest tp first.
std::vector<LayoutCandidate> layouts_for(const ModelConfig& model, const WorkloadSpec& spec,
                                         int gpus);

}  // namespace weft::model
