// SPDX-License-Identifier: Apache-2.0
// Configurations of families that are not simulated, with the keys of the published files: each is
// refused with the name of every feature that stands in the way, nested language models included.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/import/hf_config.hpp"

namespace weft::model {
namespace {

using testing::HasSubstr;

struct Refused {
  const char* family;
  const char* text;
  std::vector<const char*> features;
};

constexpr const char* experts = "mixture of experts";
constexpr const char* latent = "multi-head latent attention (MLA)";
constexpr const char* hybrid = "hybrid models";

const std::vector<Refused>& refused_families() {
  static const std::vector<Refused> all = {
      {"Mixtral-8x7B",
       R"({"model_type": "mixtral", "hidden_size": 4096, "num_local_experts": 8,
           "num_experts_per_tok": 2, "intermediate_size": 14336})",
       {experts}},
      {"Qwen3-235B-A22B",
       R"({"model_type": "qwen3_moe", "num_experts": 128, "moe_intermediate_size": 1536,
           "intermediate_size": 12288, "head_dim": 128})",
       {experts}},
      {"gpt-oss-120b",
       R"({"model_type": "gpt_oss", "num_local_experts": 128, "head_dim": 64, "hidden_size": 2880,
           "layer_types": ["sliding_attention", "full_attention"]})",
       {experts}},
      {"DeepSeek-V3",
       R"({"model_type": "deepseek_v3", "n_routed_experts": 256, "kv_lora_rank": 512,
           "qk_rope_head_dim": 64, "num_nextn_predict_layers": 1})",
       {experts, latent, "multi-token prediction"}},
      {"DeepSeek-V3.2",
       R"({"model_type": "deepseek_v32", "n_routed_experts": 256, "kv_lora_rank": 512,
           "index_topk": 2048})",
       {experts, latent, "sparse attention"}},
      {"Kimi-K2.5",
       R"({"model_type": "kimi_k25", "vision_config": {}, "text_config": {"model_type": "kimi_k2",
           "n_routed_experts": 384, "kv_lora_rank": 512}})",
       {experts, latent}},
      {"Llama-4-Scout",
       R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
           "num_local_experts": 16, "attention_chunk_size": 8192}})",
       {experts, "chunked attention"}},
      {"Qwen3-Next-80B-A3B",
       R"({"model_type": "qwen3_next", "num_experts": 512, "linear_num_key_heads": 16,
           "full_attention_interval": 4})",
       {experts, hybrid}},
      {"Nemotron-H-56B",
       R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M-M-M*-", "ssm_state_size": 256})",
       {hybrid}},
      {"Llama-3.1-Nemotron-51B",
       R"({"model_type": "nemotron-nas", "block_configs": [{"attention": {"no_op": true}}]})",
       {hybrid}},
      {"Jamba-1.5",
       R"({"model_type": "jamba", "attn_layer_period": 8, "num_experts": 16})",
       {experts, hybrid}},
      {"LFM2", R"({"model_type": "lfm2", "conv_L_cache": 3})", {hybrid}},
      {"Gemma-3n",
       R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text",
           "hidden_size_per_layer_input": 256, "num_kv_shared_layers": 15}})",
       {"per-layer embeddings", "KV cache shared"}},
      {"Gemma-4-26B-A4B",
       R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", "top_k_experts": 8,
           "num_experts": 128}})",
       {experts}},
      {"ERNIE-4.5", R"({"model_type": "ernie4_5_moe", "moe_num_experts": 64})", {experts}},
      {"Falcon-7B",
       R"({"model_type": "falcon", "parallel_attn": true, "alibi": false})",
       {"attention and MLP side by side"}},
      {"DBRX", R"({"model_type": "dbrx", "ffn_config": {"moe_num_experts": 16}})", {experts}},
      {"T5", R"({"model_type": "t5", "is_encoder_decoder": true})", {"encoder-decoder"}},
  };
  return all;
}

TEST(RefusedModels, EachNamesEveryFeatureThatStandsInTheWay) {
  for (const Refused& each : refused_families()) {
    try {
      static_cast<void>(read_hf_config(config::Document::parse(
          each.text, "config.json", {.dialect = config::Dialect::tolerant})));
      ADD_FAILURE() << each.family << " was read";
    } catch (const config::ConfigErrors& errors) {
      for (const char* feature : each.features) {
        EXPECT_THAT(errors.what(), HasSubstr(feature)) << each.family;
      }
    }
  }
}

}  // namespace
}  // namespace weft::model
