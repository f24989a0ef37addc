// SPDX-License-Identifier: Apache-2.0
#include "models/import/hf_config.hpp"

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "configs/reader/json_writer.hpp"
#include "configs/reader/range.hpp"
#include "configs/reader/strict_object.hpp"
#include "configs/reader/strict_object_read.hpp"
#include "models/import/hf_family.hpp"
#include "models/import/hf_features.hpp"
#include "models/import/megatron.hpp"

namespace weft::model {
namespace {

using config::between;
using config::ConfigError;
using config::Range;
using config::StrictObject;
using Count = std::int64_t;

// Nothing published comes near; beyond them products of two no longer fit 64 bits.
constexpr Count kMostLayers = 1 << 14;
constexpr Count kMostFeatures = 1 << 24;

class HfReader {
 public:
  explicit HfReader(StrictObject& object) : object_(object) {}

  /// Returns a model that is complete only if the reading met no error.
  ModelConfig read() {
    const HfFamily* family = find_family();
    if (family == nullptr) return {};
    model_.family = family->type;
    model_.gated_mlp = family->gated_mlp;
    model_.norm = family->norm;
    model_.norm_after = family->norm_after;
    model_.qk_norm = family->qk_norm;
    model_.positions = family->positions;
    read_sizes(*family);
    read_switches(*family);
    read_windows(*family);
    read_dtype();
    note_ignored();
    pass_over_irrelevant_keys(object_);
    return std::move(model_);
  }

  std::optional<DType> dtype() const { return dtype_; }

 private:
  const HfFamily* find_family() {
    const auto type = object_.optional<std::string>({"model_type", "family of the model"});
    const auto architectures =
        object_.optional<std::vector<std::string>>({"architectures", "classes that load it"});
    const int refused = refuse_unsupported_features(object_);
    const HfFamily* family = nullptr;
    if (type) {
      family = hf_family_of_type(*type);
    } else if (architectures && !architectures->empty()) {
      family = hf_family_of_architecture(architectures->front());
      if (family != nullptr) {
        assume("architectures", fmt::format("model_type is absent: taken as \"{}\"", family->type));
      }
    }
    if (family != nullptr) return refused == 0 ? family : nullptr;
    const std::string hint = fmt::format("supported: {}", fmt::join(hf_model_types(), ", "));
    if (type) {
      object_.error(object_.origin("model_type"),
                    fmt::format("model_type \"{}\" is not supported yet", *type), hint);
    } else if (architectures && !architectures->empty()) {
      object_.error(object_.origin("architectures"),
                    fmt::format("architecture \"{}\" is not supported yet", architectures->front()),
                    hint);
    } else if (refused == 0) {
      object_.error(object_.origin(), "neither model_type nor architectures say what model this is",
                    hint);
    }
    return nullptr;
  }

  void assume(std::string_view key, std::string what) {
    const config::Origin at = object_.origin(key);
    object_.reading().notes.push_back({object_.reading().file,
                                       at.place.line,
                                       at.place.column,
                                       at.json_pointer,
                                       std::move(what),
                                       {}});
  }

  /// The first of several spellings that is there; two that disagree are an error.
  std::optional<Count> any_of(std::initializer_list<std::string_view> keys, std::string_view doc,
                              Count most) {
    std::optional<Count> found;
    std::string_view found_key;
    for (const std::string_view key : keys) {
      if (!object_.has(key)) continue;
      const auto value = object_.optional<Count>({key, doc}, between<Count>(1, most));
      if (!value) continue;
      if (found && *found != *value) {
        object_.error(key,
                      fmt::format("{} says {}, but {} says {}", key, *value, found_key, *found));
      }
      if (!found) found_key = key;
      found = found.value_or(*value);
    }
    return found;
  }

  /// Whether one of the keys has a value: if it was no good, that has been reported.
  bool there(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      if (object_.any({key, "a size"}) != nullptr) return true;
    }
    return false;
  }

  void missing(std::initializer_list<std::string_view> keys, std::string_view doc) {
    object_.error(object_.origin(),
                  fmt::format("missing key \"{}\": {}", fmt::join(keys, "\" or \""), doc));
  }

  Count required(std::initializer_list<std::string_view> keys, std::string_view doc, Count most) {
    if (const auto value = any_of(keys, doc, most)) return *value;
    if (!there(keys)) missing(keys, doc);
    return 0;
  }

  void read_sizes(const HfFamily& family) {
    model_.layers = required({"num_hidden_layers", "n_layer"}, "number of layers", kMostLayers);
    model_.hidden =
        required({"hidden_size", "n_embd"}, "width of the residual stream", kMostFeatures);
    model_.heads = required({"num_attention_heads", "n_head"}, "query heads", kMostFeatures);
    model_.vocab = required({"vocab_size"}, "tokens of the vocabulary", kMostFeatures * 16);
    const std::string_view positions = "longest sequence";
    const Count most_positions = Count{1} << 40;
    if (family.positions == PositionKind::learned) {
      model_.max_positions =
          required({"n_positions", "n_ctx", "max_position_embeddings"}, positions, most_positions);
    } else {
      model_.max_positions =
          any_of({"max_position_embeddings", "n_positions", "n_ctx"}, positions, most_positions)
              .value_or(0);
    }
    read_ffn(family);
    if (model_.heads == 0 || model_.hidden == 0) return;
    read_heads(family);
  }

  void read_ffn(const HfFamily& family) {
    const auto ffn =
        any_of({"intermediate_size", "n_inner"}, "width of the MLP's middle", kMostFeatures);
    if (ffn) {
      model_.ffn = *ffn;
    } else if (!family.gated_mlp) {
      model_.ffn = 4 * model_.hidden;
      assume("n_inner", fmt::format("width of the MLP's middle is absent: 4 * {} = {}",
                                    model_.hidden, model_.ffn));
    } else if (!there({"intermediate_size", "n_inner"})) {
      missing({"intermediate_size", "n_inner"}, "width of the MLP's middle");
    }
  }

  void read_heads(const HfFamily& family) {
    const auto kv = any_of({"num_key_value_heads", "num_kv_heads", "n_head_kv"}, "key/value heads",
                           kMostFeatures);
    model_.kv_heads = kv.value_or(model_.heads);
    if (!kv && family.positions == PositionKind::rotary) {
      assume("num_key_value_heads",
             fmt::format("key/value heads are absent: as many as query heads, {}", model_.heads));
    }
    if (model_.heads % model_.kv_heads != 0) {
      object_.error(object_.origin("num_key_value_heads"),
                    fmt::format("{} query heads do not divide by {} key/value heads", model_.heads,
                                model_.kv_heads));
    }
    if (const auto head_dim = any_of({"head_dim"}, "features of a head", kMostFeatures)) {
      model_.head_dim = *head_dim;
    } else if (family.head_dim != 0) {
      model_.head_dim = family.head_dim;
      assume("head_dim", fmt::format("head_dim is absent: {}, as {} has it by default",
                                     family.head_dim, family.type));
    } else if (model_.hidden % model_.heads == 0) {
      model_.head_dim = model_.hidden / model_.heads;
    } else {
      object_.error(object_.origin("hidden_size"),
                    fmt::format("{} features do not divide by {} heads, and there is no head_dim",
                                model_.hidden, model_.heads));
    }
  }

  bool flag(std::string_view key, std::string_view doc, bool fallback) {
    return object_.optional<bool>({key, doc}).value_or(fallback);
  }

  void read_switches(const HfFamily& family) {
    model_.tied_embeddings =
        flag("tie_word_embeddings", "the output matrix is the embedding", family.tied_embeddings);
    if (!object_.has("tie_word_embeddings") && family.tied_embeddings) {
      assume(
          "tie_word_embeddings",
          fmt::format("tie_word_embeddings is absent: true, as {} has it by default", family.type));
    }
    const bool attention_bias =
        flag("attention_bias", "products of attention have biases", family.every_bias);
    model_.qkv_bias = attention_bias || family.qkv_bias;
    model_.attention_out_bias = attention_bias;
    model_.mlp_bias = flag("mlp_bias", "products of the MLP have biases", family.every_bias);

    model_.activation = family.activation;
    for (const std::string_view key : {"hidden_activation", "hidden_act", "activation_function"}) {
      const auto named = object_.optional<std::string>({key, "activation of the MLP"});
      if (named) {
        model_.activation = *named;
        break;
      }
    }
    for (const std::string_view key : {"hidden_act", "activation_function", "attention_dropout"}) {
      if (object_.has(key))
        object_.any({key, "read above, or between products that do not show it"});
    }
    for (const std::string_view key : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) {
      const auto rate =
          object_.optional<double>({key, "dropout in training"}, between<double>(0.0, 1.0));
      model_.dropout = model_.dropout || rate.value_or(0) > 0;
    }
  }

  void read_windows(const HfFamily& family) {
    const bool said = object_.has("sliding_window");
    const auto window = object_.optional<Count>({"sliding_window", "tokens that a query sees"},
                                                between<Count>(1, Count{1} << 40));
    const bool used = flag("use_sliding_window", "whether sliding_window is used",
                           family.windows != WindowRule::from_a_layer);
    const auto from = object_.optional<Count>({"max_window_layers", "first layer with a window"},
                                              between<Count>(0, kMostLayers));
    const auto types =
        object_.optional<std::vector<std::string>>({"layer_types", "kind of each layer"});
    Count tokens = window.value_or(said ? 0 : family.sliding_window);
    if (family.windows == WindowRule::never || !used) tokens = 0;
    if (!said && tokens != 0) {
      assume("sliding_window", fmt::format("sliding_window is absent: {}, as {} has it by default",
                                           tokens, family.type));
    }
    if (types) return read_layer_types(*types, tokens);
    if (tokens == 0 || model_.layers == 0) return;
    model_.windows.assign(static_cast<std::size_t>(model_.layers), 0);
    for (Count i = 0; i < model_.layers; ++i) {
      const bool windowed = family.windows == WindowRule::every_layer ||
                            (family.windows == WindowRule::every_other_layer && i % 2 == 0) ||
                            (family.windows == WindowRule::from_a_layer && i >= from.value_or(0));
      if (windowed) model_.windows[static_cast<std::size_t>(i)] = tokens;
    }
  }

  void read_layer_types(const std::vector<std::string>& types, Count tokens) {
    if (model_.layers != 0 && static_cast<Count>(types.size()) != model_.layers) {
      object_.error(object_.origin("layer_types"),
                    fmt::format("{} layer types for {} layers", types.size(), model_.layers));
      return;
    }
    for (const std::string& type : types) {
      if (type == "sliding_attention") {
        model_.windows.push_back(tokens);
      } else if (type == "full_attention") {
        model_.windows.push_back(0);
      } else {
        object_.error(object_.origin("layer_types"),
                      fmt::format("layers of type \"{}\" cannot be simulated yet", type));
        return;
      }
    }
  }

  void read_dtype() {
    for (const std::string_view key : {"dtype", "torch_dtype"}) {
      const auto text = object_.optional<std::string>({key, "what the weights are published in"});
      if (!text || dtype_) continue;
      dtype_ = dtype_of(*text);
      if (!dtype_) assume(key, fmt::format("dtype \"{}\" is not known and ignored", *text));
    }
  }

  void note_ignored() {
    if (!object_.has("quantization_config")) return;
    const config::Value* value = object_.any({"quantization_config", "of the weights"});
    if (value != nullptr && value->is_object()) {
      assume("quantization_config",
             "quantisation of the published weights is ignored: dtypes are those of the scenario");
    }
  }

  StrictObject& object_;
  ModelConfig model_;
  std::optional<DType> dtype_;
};

/// The folder of a file named config.json, which is how a model is downloaded; else the file's
/// stem.
std::string name_from(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string folder = path.parent_path().filename().string();
  return path.filename() == "config.json" && !folder.empty() ? folder : path.stem().string();
}

}  // namespace

ImportedModel read_hf_config(const config::Document& document) {
  StrictObject root(document);
  ImportedModel imported;
  const auto read = [&](StrictObject& object) {
    HfReader reader(object);
    imported.model = reader.read();
    imported.dtype = reader.dtype();
    return 0;
  };
  if (!document.root().is_object()) {
    root.finish();  // throws: a document that is no object has been reported
  } else if (const config::Value* nested = document.root().find("text_config");
             nested != nullptr && !nested->is_null()) {
    root.optional_object({"text_config", "the language model of a multimodal one"}, read);
  } else {
    read(root);
  }
  imported.model.name = name_from(document.name());
  if (root.good()) {
    try {
      parameters_of(imported.model);
    } catch (const std::overflow_error&) {
      root.error(root.origin(), "these sizes give more than 2^63 parameters");
    }
  }
  root.finish();
  imported.notes = root.notes();
  return imported;
}

ImportedModel read_hf_config(const std::filesystem::path& file) {
  const config::ParseOptions options{.dialect = config::Dialect::tolerant};
  if (!is_launch_file(file)) return read_hf_config(config::Document::load(file, options));
  const LaunchArguments arguments =
      read_launch_arguments(config::read_text(file, options.max_size), file.string());
  const MegatronJob job = megatron_job(arguments);
  ImportedModel imported = read_hf_config(
      config::Document::parse(config::to_json(model_of(job, arguments)), file.string(), options));
  for (const auto* notes : {&arguments.notes, &job.notes})
    imported.notes.insert(imported.notes.end(), notes->begin(), notes->end());
  return imported;
}

std::vector<std::string_view> hf_model_types() {
  std::vector<std::string_view> types;
  for (const HfFamily& family : hf_families()) types.push_back(family.type);
  return types;
}

}  // namespace weft::model
