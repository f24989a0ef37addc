// SPDX-License-Identifier: Apache-2.0
#include "models/import/hf_features.hpp"

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace weft::model {
namespace {

using config::StrictObject;
using config::Value;

struct Feature {
  std::string_view key;
  std::string_view name;
};

constexpr std::string_view kExperts = "mixture of experts";
constexpr std::string_view kLatent = "multi-head latent attention (MLA)";
constexpr std::string_view kHybrid = "layers that are not attention and MLP (hybrid models)";
constexpr std::string_view kEncoder = "encoder-decoder models";
constexpr std::string_view kParallel = "attention and MLP side by side";

// A key that is present and neither null, false, 0 nor empty says that the model has the feature.
constexpr Feature kUnsupported[] = {
    {"num_local_experts", kExperts},
    {"num_experts", kExperts},
    {"n_routed_experts", kExperts},
    {"moe_intermediate_size", kExperts},
    {"ffn_config", kExperts},
    {"moe_num_experts", kExperts},
    {"top_k_experts", kExperts},
    {"kv_lora_rank", kLatent},
    {"qk_rope_head_dim", kLatent},
    {"hybrid_override_pattern", kHybrid},
    {"conv_L_cache", kHybrid},
    {"full_attention_interval", kHybrid},
    {"block_configs", kHybrid},
    {"layers_block_type", kHybrid},
    {"attn_layer_period", kHybrid},
    {"attn_type_list", kHybrid},
    {"linear_num_key_heads", kHybrid},
    {"mamba_d_state", kHybrid},
    {"ssm_state_size", kHybrid},
    {"ssm_cfg", kHybrid},
    {"is_encoder_decoder", kEncoder},
    {"encoder_layers", kEncoder},
    {"num_decoder_layers", kEncoder},
    {"add_cross_attention", "cross-attention"},
    {"cross_attention_layers", "cross-attention"},
    {"num_nextn_predict_layers", "multi-token prediction layers"},
    {"alibi", "ALiBi position biases"},
    {"index_topk", "sparse attention (tokens chosen by an index)"},
    {"parallel_attn", kParallel},
    {"use_parallel_residual", kParallel},
    {"attention_chunk_size", "chunked attention"},
    {"hidden_size_per_layer_input", "per-layer embeddings"},
    {"num_kv_shared_layers", "KV cache shared between layers"},
};

constexpr std::string_view kIrrelevant[] = {
    "_attn_implementation",
    "_name_or_path",
    "attn_implementation",
    "attn_logit_softcapping",
    "auto_map",
    "bos_token_id",
    "cache_implementation",
    "eos_token_id",
    "final_logit_softcapping",
    "id2label",
    "initializer_range",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "original_max_position_embeddings",
    "pad_token_id",
    "partial_rotary_factor",
    "pretraining_tp",
    "query_pre_attn_scalar",
    "reorder_and_upcast_attn",
    "rms_norm_eps",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "transformers_version",
    "unk_token_id",
    "use_cache",
};

bool says_yes(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::null:
      return false;
    case Value::Kind::boolean:
      return value.as_boolean();
    case Value::Kind::integer:
      return value.as_integer() != 0;
    case Value::Kind::real:
      return value.as_real() != 0;
    case Value::Kind::string:
      return !value.as_string().empty();
    case Value::Kind::array:
      return !value.items().empty();
    case Value::Kind::object:
      return !value.members().empty();
  }
  return false;
}

}  // namespace

int refuse_unsupported_features(StrictObject& object) {
  int refused = 0;
  for (const Feature& feature : kUnsupported) {
    if (!object.has(feature.key)) continue;
    const Value* value = object.any({feature.key, feature.name});
    if (value == nullptr || !says_yes(*value)) continue;
    object.error(object.origin(feature.key),
                 fmt::format("{} cannot be simulated yet", feature.name));
    ++refused;
  }
  return refused;
}

void pass_over_irrelevant_keys(StrictObject& object) {
  for (const std::string_view key : kIrrelevant) {
    if (object.has(key)) object.any({key, "changes no shape"});
  }
}

}  // namespace weft::model
