// SPDX-License-Identifier: Apache-2.0
// Parameters of models with mixtures of experts and with multi-head latent attention, from their
// config.json: counted, in all and for a token, and not simulated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"

namespace weft::model {

struct SparseModel {
  std::string name;
  std::string family;  ///< "mixtral", "deepseek_v3"
  std::int64_t layers = 0, hidden = 0;
  std::int64_t experts = 0, experts_per_token = 0;  ///< routed ones of a layer
  std::int64_t parameters = 0;                      ///< of all layers, embedding and output matrix
  std::int64_t active = 0;                          ///< that a token passes through
  std::vector<std::string> features;                ///< why it cannot be planned
  std::vector<config::ConfigError> notes;
};

/// Returns whether the document, or its text_config, is of a family that is counted.
[[nodiscard]] bool is_sparse_model(const config::Document& document);

/// Reads a document that was parsed tolerantly; throws config::ConfigErrors with everything that is
/// wrong.
[[nodiscard]] SparseModel read_sparse_model(const config::Document& document);

/// The values of model_type that are counted, sorted.
[[nodiscard]] std::vector<std::string_view> sparse_model_types();

}  // namespace weft::model
