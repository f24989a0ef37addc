// SPDX-License-Identifier: Apache-2.0
// A dense decoder-only transformer by its hyper-parameters: all that shapes, FLOPs and bytes follow
// from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::model {

enum class NormKind : std::uint8_t { rms_norm, layer_norm };
enum class PositionKind : std::uint8_t { rotary, learned };

struct ModelConfig {
  std::string name;    ///< what reports call it
  std::string family;  ///< "llama", "gpt2", ...

  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;  ///< width of the MLP's middle, of each half if gated
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  std::int64_t max_positions = 0;

  bool gated_mlp = true;
  std::string activation = "silu";
  NormKind norm = NormKind::rms_norm;
  bool norm_after = false;  ///< a second norm on the output of attention and of the MLP (Gemma 2)
  bool qk_norm = false;     ///< a norm over the head dimension of queries and keys (Qwen 3)
  PositionKind positions = PositionKind::rotary;
  bool qkv_bias = false;
  bool attention_out_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;
  bool dropout = false;  ///< trained with dropout: its masks are kept for the backward pass

  /// Latest tokens that a query of each layer sees, 0: all. Empty: 0 for every layer.
  std::vector<std::int64_t> windows;

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// Returns the window of a layer, 0 if it sees all tokens.
std::int64_t window_of(const ModelConfig& model, std::int64_t layer);

/// Returns the model at another width: its head size, KV heads and the MLP's ratio are kept, the MLP's width to a
/// multiple of `granule`. Throws std::domain_error for a width that is no whole number of its heads.
ModelConfig at_width(const ModelConfig& model, std::int64_t hidden, std::int64_t granule);

/// Parameters by part of the model.
struct ParameterCount {
  std::int64_t embedding = 0;  ///< tokens and learned positions
  std::int64_t block = 0;      ///< of one layer
  std::int64_t blocks = 0;     ///< of all layers
  std::int64_t head = 0;       ///< final norm, and the output matrix unless it is tied
  std::int64_t total = 0;
  friend bool operator==(const ParameterCount&, const ParameterCount&) = default;
};

/// Counts every parameter, biases and norms included.
ParameterCount parameters_of(const ModelConfig& model);

}  // namespace weft::model
