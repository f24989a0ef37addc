// SPDX-License-Identifier: Apache-2.0
#include "models/import/hf_family.hpp"

#include <algorithm>

namespace weft::model {
namespace {

constexpr HfFamily kFamilies[] = {
    {.type = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .activation = "gelu_tanh",
     .norm_after = true,
     .tied_embeddings = true,
     .head_dim = 256,
     .windows = WindowRule::every_other_layer,
     .sliding_window = 4096},
    {.type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .gated_mlp = false,
     .activation = "gelu_new",
     .norm = NormKind::layer_norm,
     .positions = PositionKind::learned,
     .every_bias = true,
     .tied_embeddings = true},
    {.type = "llama", .architecture = "LlamaForCausalLM"},
    {.type = "mistral",
     .architecture = "MistralForCausalLM",
     .windows = WindowRule::every_layer,
     .sliding_window = 4096},
    {.type = "phi3", .architecture = "Phi3ForCausalLM", .windows = WindowRule::every_layer},
    {.type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .qkv_bias = true,
     .windows = WindowRule::from_a_layer,
     .sliding_window = 4096},
    {.type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .qk_norm = true,
     .head_dim = 128,
     .windows = WindowRule::from_a_layer,
     .sliding_window = 4096},
    {.type = "qwen3_vl_text", .architecture = "Qwen3VLTextModel", .qk_norm = true, .head_dim = 128},
};

const HfFamily* find(std::string_view HfFamily::*member, std::string_view text) {
  const auto found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                  [&](const HfFamily& each) { return each.*member == text; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace

std::span<const HfFamily> hf_families() {
  return kFamilies;
}

const HfFamily* hf_family_of_type(std::string_view type) {
  return find(&HfFamily::type, type);
}

const HfFamily* hf_family_of_architecture(std::string_view architecture) {
  return find(&HfFamily::architecture, architecture);
}

}  // namespace weft::model
