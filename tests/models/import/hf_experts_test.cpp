// SPDX-License-Identifier: Apache-2.0
// Models with experts: what a file's sizes come to, against the counts of the published weights.
#include "models/import/hf_experts.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fuzz/fixture.hpp"

namespace weft::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SparseModel counted(const std::string& text) {
  return read_sparse_model(
      config::Document::parse(text, "config.json", {.dialect = config::Dialect::tolerant}));
}

std::string not_counted(const std::string& text) {
  return fixture::refusal_of([&] { return counted(text); });
}

std::string mixtral(int hidden, int layers, int ffn, int heads, int vocab) {
  return R"({"model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2,
             "num_key_value_heads": 8, "hidden_size": )" +
         std::to_string(hidden) + R"(, "num_hidden_layers": )" + std::to_string(layers) +
         R"(, "intermediate_size": )" + std::to_string(ffn) + R"(, "num_attention_heads": )" +
         std::to_string(heads) + R"(, "vocab_size": )" + std::to_string(vocab) + "}";
}

std::string gpt_oss(int layers, int experts) {
  return R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
             "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
             "vocab_size": 201088, "num_experts_per_tok": 4, "attention_bias": true,
             "num_hidden_layers": )" +
         std::to_string(layers) + R"(, "num_local_experts": )" + std::to_string(experts) + "}";
}

constexpr const char* deepseek_v3 = R"({
  "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
  "first_k_dense_replace": 3, "intermediate_size": 18432, "moe_intermediate_size": 2048,
  "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_layer_freq": 1,
  "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
  "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
  "vocab_size": 129280, "topk_method": "noaux_tc", "num_nextn_predict_layers": 1})";

TEST(SparseModel, ParametersOfPublishedModels) {
  EXPECT_EQ(counted(mixtral(4096, 32, 14336, 32, 32000)).parameters, 46'702'792'704);   // 8x7B
  EXPECT_EQ(counted(mixtral(6144, 56, 16384, 48, 32000)).parameters, 140'620'634'112);  // 8x22B
  EXPECT_EQ(counted(gpt_oss(36, 128)).parameters, 116'829'156'672);                     // 120b
  EXPECT_EQ(counted(gpt_oss(24, 32)).parameters, 20'914'757'184);                       // 20b
  EXPECT_EQ(counted(deepseek_v3).parameters, 671'026'419'200);  // without MTP
  EXPECT_EQ(counted(R"({"model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94,
                        "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128,
                        "num_experts": 128, "num_experts_per_tok": 8,
                        "moe_intermediate_size": 1536, "intermediate_size": 12288,
                        "vocab_size": 151936, "mlp_only_layers": [], "decoder_sparse_step": 1})")
                .parameters,
            235'093'634'560);  // 235B-A22B
}

// A token passes 2 of 8 experts: of the experts' weights a quarter.
TEST(SparseModel, ATokenPassesItsExpertsOnly) {
  const SparseModel model = counted(mixtral(4096, 32, 14336, 32, 32000));
  const std::int64_t experts = std::int64_t{32} * 8 * 3 * 4096 * 14336;
  EXPECT_EQ(model.parameters - model.active, experts / 4 * 3);
  EXPECT_EQ(counted(deepseek_v3).active, 37'552'297'472);
}

TEST(SparseModel, WhatStandsInTheWayOfAPlanIsNamed) {
  EXPECT_THAT(counted(mixtral(4096, 32, 14336, 32, 32000)).features,
              ElementsAre("mixture of experts"));
  EXPECT_THAT(counted(deepseek_v3).features,
              ElementsAre("mixture of experts", "multi-head latent attention (MLA)"));
}

TEST(SparseModel, NestedLanguageModelsAreRead) {
  const std::string nested = R"({"model_type": "kimi_k25", "vision_config": {}, "text_config": )" +
                             std::string(deepseek_v3) + "}";
  EXPECT_EQ(counted(nested).parameters, 671'026'419'200);
}

TEST(SparseModel, WrongSizesAreRefused) {
  EXPECT_THAT(not_counted(R"({"model_type": "llama"})"), HasSubstr("no family whose parameters"));
  const std::string missing = not_counted(R"({"model_type": "mixtral", "hidden_size": -1})");
  EXPECT_THAT(missing, HasSubstr("num_local_experts"));
  EXPECT_THAT(missing, HasSubstr("hidden_size"));
  EXPECT_THAT(not_counted(R"({"model_type": "mixtral", "num_local_experts": 8,
      "num_experts_per_tok": 9, "hidden_size": 64, "num_hidden_layers": 2,
      "intermediate_size": 64, "num_attention_heads": 4, "vocab_size": 100})"),
              HasSubstr("9 experts a token of 8"));
  EXPECT_THAT(not_counted(R"({"model_type": "mixtral", "num_local_experts": 65536,
      "num_experts_per_tok": 1, "hidden_size": 16777216, "num_hidden_layers": 65536,
      "intermediate_size": 16777216, "num_attention_heads": 4, "vocab_size": 100})"),
              HasSubstr("more than 2^63 parameters"));
}

}  // namespace
}  // namespace weft::model
