// SPDX-License-Identifier: Apache-2.0
// Shapes are those of transformers (src/transformers/models/<model_type>/modeling_<model_type>.py):
//
//   attention  q h H d, k and v h K d each, o H d h, biases and norms where the family has them
//   MLA        q by way of q_lora_rank or at once, keys and values by way of kv_lora_rank, each rank
//              with a norm; o H v h
//   experts    3 h f each (gate, up, down), a router h E, shared experts that every token passes
//
// Layers without experts have an MLP of 3 h intermediate_size. Multi-token prediction is left out.
#include "models/import/hf_experts.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "configs/reader/range.hpp"
#include "configs/reader/strict_object.hpp"
#include "configs/reader/strict_object_read.hpp"
#include "models/import/hf_features.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

using config::StrictObject;
using config::Value;
using Size = std::int64_t;

constexpr Size kMostWidth = 1 << 24;
constexpr Size kMostOfAKind = 1 << 16;  // layers, experts

/// What a family has beside its sizes.
struct ExpertFamily {
  std::string_view type;
  std::string_view experts;  ///< key of their number
  std::string_view width;    ///< key of an expert's middle
  bool latent = false;       ///< MLA
  bool qk_norm = false;
  bool qkv_bias = false;
  bool biased = false;       ///< router, experts and attention have biases, attention a sink a head
  bool shared_gate = false;  ///< the shared expert's output goes through a gate of h
};

constexpr ExpertFamily kExpertFamilies[] = {
    {.type = "deepseek_v2",
     .experts = "n_routed_experts",
     .width = "moe_intermediate_size",
     .latent = true},
    {.type = "deepseek_v3",
     .experts = "n_routed_experts",
     .width = "moe_intermediate_size",
     .latent = true},
    {.type = "gpt_oss",
     .experts = "num_local_experts",
     .width = "intermediate_size",
     .biased = true},
    {.type = "kimi_k2",
     .experts = "n_routed_experts",
     .width = "moe_intermediate_size",
     .latent = true},
    {.type = "mixtral", .experts = "num_local_experts", .width = "intermediate_size"},
    {.type = "qwen2_moe",
     .experts = "num_experts",
     .width = "moe_intermediate_size",
     .qkv_bias = true,
     .shared_gate = true},
    {.type = "qwen3_moe",
     .experts = "num_experts",
     .width = "moe_intermediate_size",
     .qk_norm = true},
    {.type = "qwen3_vl_moe_text",
     .experts = "num_experts",
     .width = "moe_intermediate_size",
     .qk_norm = true},
};

const ExpertFamily* expert_family(const Value& model) {
  const Value* type = model.is_object() ? model.find("model_type") : nullptr;
  if (type == nullptr || !type->is_string()) return nullptr;
  for (const ExpertFamily& family : kExpertFamilies) {
    if (family.type == type->as_string()) return &family;
  }
  return nullptr;
}

const Value& language_model(const config::Document& document) {
  const Value* nested = document.root().is_object() ? document.root().find("text_config") : nullptr;
  return nested != nullptr && nested->is_object() ? *nested : document.root();
}

class SparseReader {
 public:
  SparseReader(StrictObject& object, const ExpertFamily& family, SparseModel& model)
      : object_(object), family_(family), model_(model) {}

  void read() {
    object_.optional<std::string>({"model_type", "family of the model"});
    if (object_.has("architectures")) object_.any({"architectures", "its class"});
    model_.family = family_.type;
    model_.layers = needed("num_hidden_layers", "number of layers", kMostOfAKind);
    model_.hidden = needed("hidden_size", "width of the residual stream", kMostWidth);
    model_.experts = needed(family_.experts, "routed experts of a layer", kMostOfAKind);
    model_.experts_per_token =
        needed("num_experts_per_tok", "routed experts that a token passes", kMostOfAKind);
    const Size vocab = needed("vocab_size", "tokens", kMostWidth);
    const Size width = needed(family_.width, "width of an expert's middle", kMostWidth);
    if (model_.experts_per_token > model_.experts) {
      object_.error(
          object_.origin("num_experts_per_tok"),
          fmt::format("{} experts a token of {}", model_.experts_per_token, model_.experts));
    }
    const Int128 h = model_.hidden;
    const Int128 expert = 3 * h * width + (family_.biased ? Int128{2} * width + h : 0);
    const Int128 router = h * model_.experts + (family_.biased ? model_.experts : 0) +
                          (corrected() ? model_.experts : 0);
    const Int128 shared = shared_experts(width);
    const Int128 both = attention() + 2 * h;
    const Size dense = dense_layers();
    const Int128 dense_mlp = dense == 0 ? Int128{0} : 3 * h * dense_width();
    const bool tied =
        object_.optional<bool>({"tie_word_embeddings", "the output matrix is the embedding"})
            .value_or(false);
    const Int128 ends = (tied ? 1 : 2) * Int128{vocab} * h + h;
    const Int128 sparse = model_.layers - dense;
    const Int128 fixed =
        ends + both * model_.layers + dense_mlp * dense + (router + shared) * sparse;
    model_.parameters = fitting(fixed + expert * model_.experts * sparse);
    model_.active = fitting(fixed + expert * model_.experts_per_token * sparse);
    pass_over_irrelevant_keys(object_);
  }

 private:
  Size needed(std::string_view key, std::string_view doc, Size most) {
    return object_.required<Size>({key, doc}, config::between<Size>(1, most));
  }

  Size known(std::string_view key, std::string_view doc, Size fallback) {
    return object_.optional<Size>({key, doc}, config::between<Size>(0, kMostWidth))
        .value_or(fallback);
  }

  Size fitting(Int128 count) {
    if (count <= std::numeric_limits<Size>::max()) return static_cast<Size>(count);
    object_.error(object_.origin(), "these sizes give more than 2^63 parameters");
    return 0;
  }

  /// Routers that are balanced by a bias of their own keep it beside their weights.
  bool corrected() {
    const auto method =
        object_.optional<std::string>({"topk_method", "how a router picks its experts"});
    return method ? *method == "noaux_tc" : family_.type == "deepseek_v3";
  }

  Int128 shared_experts(Size width) {
    const Int128 h = model_.hidden;
    if (family_.shared_gate) {
      const Size own = needed("shared_expert_intermediate_size",
                              "width of the shared expert's middle", kMostWidth);
      return 3 * h * own + h;
    }
    if (!family_.latent) return 0;
    return 3 * h * width * known("n_shared_experts", "experts that every token passes", 0);
  }

  Size dense_layers() {
    if (family_.latent) {
      const Size first = known("first_k_dense_replace", "first layers without experts", 0);
      if (known("moe_layer_freq", "one in so many layers has experts", 1) != 1) {
        object_.error(object_.origin("moe_layer_freq"),
                      "experts in one of several layers are not counted");
      }
      return std::min(first, model_.layers);
    }
    const auto listed = object_.optional<std::vector<Size>>(
        {"mlp_only_layers", "layers without experts, by number"});
    if (known("decoder_sparse_step", "one in so many layers has experts", 1) > 1) {
      object_.error(object_.origin("decoder_sparse_step"),
                    "experts in one of several layers are not counted");
    }
    return listed ? std::min(static_cast<Size>(listed->size()), model_.layers) : 0;
  }

  Size dense_width() { return needed("intermediate_size", "width of an MLP's middle", kMostWidth); }

  Int128 attention() {
    const Size heads = needed("num_attention_heads", "query heads", kMostWidth);
    return family_.latent ? latent_attention(heads) : grouped_attention(heads);
  }

  Int128 grouped_attention(Size heads) {
    const Int128 h = model_.hidden;
    const Size groups = object_
                            .optional<Size>({"num_key_value_heads", "key and value heads"},
                                            config::between<Size>(1, kMostWidth))
                            .value_or(heads);
    const Size fallback = heads == 0 ? 0 : model_.hidden / heads;
    const Int128 dim = object_
                           .optional<Size>({"head_dim", "features of a head"},
                                           config::between<Size>(1, kMostWidth))
                           .value_or(fallback);
    const Int128 queries = dim * heads, keys = dim * groups;
    Int128 count = 2 * h * queries + 2 * h * keys;
    if (family_.qkv_bias || family_.biased) count += queries + 2 * keys;
    if (family_.biased) count += h + heads;
    if (family_.qk_norm) count += 2 * dim;
    return count;
  }

  Int128 latent_attention(Size heads) {
    const Int128 h = model_.hidden;
    const Int128 rank = known("q_lora_rank", "rank of the queries", 0);
    const Int128 latent = needed("kv_lora_rank", "rank of keys and values", kMostWidth);
    const Int128 rope = needed("qk_rope_head_dim", "features of a key with a position", kMostWidth);
    const Int128 plain = needed("qk_nope_head_dim", "features of a key without one", kMostWidth);
    const Int128 value = needed("v_head_dim", "features of a value", kMostWidth);
    if (object_.has("num_key_value_heads"))
      object_.any({"num_key_value_heads", "not used by latent attention"});
    const Int128 query = (plain + rope) * heads;
    const Int128 queries = rank == 0 ? h * query : h * rank + rank + rank * query;
    return queries + h * (latent + rope) + latent + latent * heads * (plain + value) +
           value * heads * h;
  }

  StrictObject& object_;
  const ExpertFamily& family_;
  SparseModel& model_;
};

}  // namespace

bool is_sparse_model(const config::Document& document) {
  return expert_family(language_model(document)) != nullptr;
}

SparseModel read_sparse_model(const config::Document& document) {
  SparseModel model;
  StrictObject root(document);
  const Value& inner = language_model(document);
  const ExpertFamily* family = expert_family(inner);
  if (family == nullptr) {
    root.error(root.origin(), "model_type says no family whose parameters are counted");
    root.finish();
    return model;
  }
  const auto read = [&](StrictObject& object) {
    SparseReader(object, *family, model).read();
    return 0;
  };
  if (&inner == &document.root()) {
    read(root);
  } else {
    root.optional_object({"text_config", "the language model of a multimodal one"}, read);
  }
  root.finish();
  model.notes = root.notes();
  model.features.emplace_back("mixture of experts");
  if (family->latent) model.features.emplace_back("multi-head latent attention (MLA)");
  const std::filesystem::path path(document.name());
  const std::string folder = path.parent_path().filename().string();
  model.name = path.filename() == "config.json" && !folder.empty() ? folder : path.stem().string();
  return model;
}

std::vector<std::string_view> sparse_model_types() {
  std::vector<std::string_view> types;
  for (const ExpertFamily& family : kExpertFamilies) types.push_back(family.type);
  return types;
}

}  // namespace weft::model
