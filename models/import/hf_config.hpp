// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face config.json as its owner has it.
//
// Keys, their older spellings and their defaults are those of the configuration classes of
// transformers (src/transformers/models/<model_type>/configuration_<model_type>.py). The file is
// read tolerantly but not silently: what was assumed or ignored is a note; what cannot be simulated
// yet is an error that names the feature. Multimodal files are read for their language model
// (text_config).
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "models/workloads/model_config.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

struct ImportedModel {
  ModelConfig model;
  std::optional<DType> dtype;              ///< that its weights are published in, if the file says
  std::vector<config::ConfigError> notes;  ///< what was assumed or ignored, by place
};

/// Reads a file, also the arguments of a Megatron-LM job for the model that they train; throws
/// config::ConfigErrors with everything that is wrong or not supported yet.
ImportedModel read_hf_config(const std::filesystem::path& file);
/// Reads a document that was parsed tolerantly.
ImportedModel read_hf_config(const config::Document& document);

/// The values of model_type that are supported, sorted.
std::vector<std::string_view> hf_model_types();

}  // namespace weft::model
