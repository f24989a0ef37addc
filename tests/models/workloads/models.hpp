// SPDX-License-Identifier: Apache-2.0
// Hyper-parameters of a few models, for tests that need no files.
#pragma once

#include "models/workloads/model_config.hpp"

namespace weft::model::test {

/// Llama-3-70B (arXiv 2407.21783, table 3).
inline ModelConfig llama3_70b() {
  ModelConfig model;
  model.name = "llama3-70b";
  model.family = "llama";
  model.layers = 80;
  model.hidden = 8192;
  model.ffn = 28672;
  model.heads = 64;
  model.kv_heads = 8;
  model.head_dim = 128;
  model.vocab = 128256;
  model.max_positions = 8192;
  return model;
}

/// A GPT of arXiv 2205.05198: MHA, 4h MLP, dropout, learned positions. 175B by default (table 3).
inline ModelConfig gpt(std::int64_t hidden = 12288, std::int64_t heads = 96,
                       std::int64_t layers = 96) {
  ModelConfig model;
  model.name = "gpt";
  model.family = "gpt2";
  model.layers = layers;
  model.hidden = hidden;
  model.ffn = 4 * hidden;
  model.heads = heads;
  model.kv_heads = heads;
  model.head_dim = hidden / heads;
  model.vocab = 51200;
  model.max_positions = 2048;
  model.gated_mlp = false;
  model.activation = "gelu";
  model.norm = NormKind::layer_norm;
  model.positions = PositionKind::learned;
  model.qkv_bias = model.attention_out_bias = model.mlp_bias = true;
  model.tied_embeddings = true;
  model.dropout = true;
  return model;
}

}  // namespace weft::model::test
