// SPDX-License-Identifier: Apache-2.0
// Files as people have them: spellings, defaults, quirks, and what is refused.
#include "models/import/hf_config.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/workloads/model_config.hpp"
#include "tests/fuzz/fixture.hpp"

namespace weft::model {
namespace {

using fixture::lines_of;
using testing::ElementsAre;
using testing::HasSubstr;

ImportedModel read(const std::string& text, const std::string& name = "config.json") {
  return read_hf_config(
      config::Document::parse(text, name, {.dialect = config::Dialect::tolerant}));
}

std::vector<std::string> errors_of(const std::string& text) {
  return fixture::errors_of([&] { return read(text); });
}

const char* const kSmallLlama = R"({
  "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
  "max_position_embeddings": 512, "torch_dtype": "bfloat16"})";

TEST(HfConfig, ReadsALlama) {
  const ImportedModel imported = read(kSmallLlama, "models/tiny/config.json");
  EXPECT_EQ(imported.model.name, "tiny");
  EXPECT_EQ(imported.model.head_dim, 16);
  EXPECT_EQ(imported.model.kv_heads, 2);
  EXPECT_FALSE(imported.model.tied_embeddings);
  EXPECT_EQ(imported.dtype, DType::bf16);
  EXPECT_TRUE(imported.notes.empty());
}

TEST(HfConfig, Gpt2SpellingsAndNullInnerWidth) {
  const ImportedModel imported = read(
      R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_inner": null,
          "n_positions": 128, "n_ctx": 128, "vocab_size": 50257, "attn_pdrop": 0.1})");
  EXPECT_EQ(imported.model.ffn, 256);
  EXPECT_EQ(imported.model.kv_heads, 4);
  EXPECT_TRUE(imported.model.tied_embeddings);
  EXPECT_TRUE(imported.model.mlp_bias);
  EXPECT_TRUE(imported.model.dropout);
  EXPECT_EQ(imported.model.positions, PositionKind::learned);
  EXPECT_THAT(
      lines_of(imported.notes),
      testing::Contains(HasSubstr("/n_inner: width of the MLP's middle is absent: 4 * 64 = 256")));
}

TEST(HfConfig, AbsentKeyValueHeadsMeanMultiHeadAttentionAndAreNoted) {
  const ImportedModel imported = read(
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
          "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100})");
  EXPECT_EQ(imported.model.kv_heads, 4);
  EXPECT_THAT(lines_of(imported.notes), testing::Contains(HasSubstr("as many as query heads, 4")));
}

TEST(HfConfig, TheLanguageModelOfAMultimodalOneIsRead) {
  const ImportedModel imported = read(
      R"({"architectures": ["SomeVisionModel"], "vision_config": {"depth": 3}, "text_config": )" +
      std::string(kSmallLlama) + "}");
  EXPECT_EQ(imported.model.hidden, 64);
  EXPECT_THAT(lines_of(imported.notes),
              testing::Contains(HasSubstr("/vision_config: key is ignored")));
}

TEST(HfConfig, TheLanguageModelOfQwen3VlIsThatOfQwen3) {
  const ImportedModel imported = read(
      R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
          "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
          "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936}})");
  EXPECT_EQ(parameters_of(imported.model).total, 8'190'735'360);
}

TEST(HfConfig, ANullLanguageModelIsNone) {
  std::string text = kSmallLlama;
  text.insert(1, "\"text_config\": null, ");
  EXPECT_EQ(read(text).model.hidden, 64);
}

TEST(HfConfig, WhatNobodyReadIsNoted) {
  std::string text = kSmallLlama;
  text.insert(1, "\"surprise\": 1, ");
  EXPECT_THAT(lines_of(read(text).notes),
              ElementsAre("config.json:1:2: /surprise: key is ignored"));
}

TEST(HfConfig, WindowsFollowTheFamily) {
  const std::string sizes =
      R"("hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100)";
  const auto windows = [&](const std::string& keys) {
    return read("{" + keys + ", " + sizes + "}").model.windows;
  };
  EXPECT_THAT(windows(R"("model_type": "mistral", "sliding_window": 32)"),
              ElementsAre(32, 32, 32, 32));
  EXPECT_THAT(windows(R"("model_type": "mistral")"), ElementsAre(4096, 4096, 4096, 4096));
  EXPECT_THAT(windows(R"("model_type": "mistral", "sliding_window": null)"), ElementsAre());
  EXPECT_THAT(windows(R"("model_type": "gemma2", "sliding_window": 32)"),
              ElementsAre(32, 0, 32, 0));
  EXPECT_THAT(windows(R"("model_type": "qwen2", "sliding_window": 32, "max_window_layers": 3,
                         "use_sliding_window": false)"),
              ElementsAre());
  EXPECT_THAT(windows(R"("model_type": "qwen2", "sliding_window": 32, "max_window_layers": 3,
                         "use_sliding_window": true)"),
              ElementsAre(0, 0, 0, 32));
  EXPECT_THAT(windows(R"("model_type": "gemma2", "sliding_window": 32, "layer_types":
       ["full_attention", "full_attention", "full_attention", "sliding_attention"])"),
              ElementsAre(0, 0, 0, 32));
}

TEST(HfConfig, ArchitecturesStandInForModelType) {
  std::string text = kSmallLlama;
  text.replace(text.find("\"model_type\": \"llama\""), 21,
               "\"architectures\": [\"LlamaForCausalLM\"]");
  EXPECT_EQ(read(text).model.family, "llama");
}

struct Refusal {
  const char* text;
  std::vector<std::string> messages;
};

TEST(HfConfig, WhatIsNotSupportedIsRefusedByName) {
  const std::string supported =
      " (supported: gemma2, gpt2, llama, mistral, phi3, qwen2, qwen3, "
      "qwen3_vl_text)";
  const Refusal refusals[] = {
      {R"({"model_type": "mixtral", "num_local_experts": 8})",
       {"config.json:1:2: /model_type: model_type \"mixtral\" is not supported yet" + supported,
        "config.json:1:27: /num_local_experts: mixture of experts cannot be simulated yet"}},
      {R"({"model_type": "deepseek_v3", "kv_lora_rank": 512, "n_routed_experts": 256})",
       {"config.json:1:2: /model_type: model_type \"deepseek_v3\" is not supported yet" + supported,
        "config.json:1:31: /kv_lora_rank: multi-head latent attention (MLA) cannot be simulated "
        "yet",
        "config.json:1:52: /n_routed_experts: mixture of experts cannot be simulated yet"}},
      {R"({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*"})",
       {"config.json:1:2: /model_type: model_type \"nemotron_h\" is not supported yet" + supported,
        "config.json:1:30: /hybrid_override_pattern: layers that are not attention and MLP (hybrid "
        "models) cannot be simulated yet"}},
      {R"({"model_type": "t5", "is_encoder_decoder": true})",
       {"config.json:1:2: /model_type: model_type \"t5\" is not supported yet" + supported,
        "config.json:1:22: /is_encoder_decoder: encoder-decoder models cannot be simulated yet"}},
      {R"({"hidden_size": 1})",
       {"config.json:1:1: neither model_type nor architectures say what model this is" +
        supported}},
  };
  for (const Refusal& refusal : refusals) {
    EXPECT_EQ(errors_of(refusal.text), refusal.messages) << refusal.text;
  }
}

TEST(HfConfig, LayersOfAnUnknownTypeAreRefused) {
  std::string text = kSmallLlama;
  text.insert(1, R"("layer_types": ["full_attention", "linear_attention"], )");
  EXPECT_THAT(
      errors_of(text),
      ElementsAre("config.json:1:2: /layer_types: layers of type \"linear_attention\" cannot be "
                  "simulated yet"));
}

TEST(HfConfig, EveryErrorIsReportedAtOnce) {
  EXPECT_THAT(
      errors_of(R"({"model_type": "llama",
 "hidden_size": 65,
 "intermediate_size": -3,
 "num_attention_heads": 4,
 "num_key_value_heads": 3})"),
      ElementsAre(
          HasSubstr("config.json:1:1: missing key \"num_hidden_layers\" or \"n_layer\": number of "
                    "layers"),
          HasSubstr("config.json:1:1: missing key \"vocab_size\""),
          HasSubstr("config.json:2:2: /hidden_size: 65 features do not divide by 4 heads, and "
                    "there is no "
                    "head_dim"),
          HasSubstr("config.json:3:2: /intermediate_size"),
          HasSubstr("config.json:5:2: /num_key_value_heads: 4 query heads do not divide by 3")));
}

TEST(HfConfig, TwoSpellingsThatDisagreeAreAnError) {
  std::string text = kSmallLlama;
  text.insert(1, "\"n_embd\": 65, ");
  EXPECT_THAT(errors_of(text), ElementsAre(HasSubstr("n_embd says 65, but hidden_size says 64")));
}

TEST(HfConfig, SizesThatOverflowAreAnError) {
  EXPECT_THAT(errors_of(
                  R"({"model_type": "llama", "hidden_size": 16777216, "intermediate_size": 16777216,
          "num_hidden_layers": 16384, "num_attention_heads": 16777216, "num_key_value_heads": 1,
          "head_dim": 16777216, "vocab_size": 100})"),
              ElementsAre(HasSubstr("more than 2^63 parameters")));
}

TEST(HfConfig, AFileThatIsNotAnObjectIsAnError) {
  EXPECT_EQ(errors_of("[]").size(), 1U);
  EXPECT_EQ(errors_of("{\"model_type\": ").size(), 1U);
}

}  // namespace
}  // namespace weft::model
