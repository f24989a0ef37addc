// SPDX-License-Identifier: Apache-2.0
// What a model_type means beyond the keys of the file: the structure that its code fixes and the
// defaults of its configuration class in transformers 4.51.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/workloads/model_config.hpp"

namespace weft::model {

/// Which layers see only a window of tokens.
enum class WindowRule : std::uint8_t {
  never,
  every_layer,       ///< sliding_window, in all layers
  from_a_layer,      ///< sliding_window from max_window_layers on, if use_sliding_window
  every_other_layer  ///< sliding_window in layers 0, 2, 4, ..., unless layer_types says otherwise
};

struct HfFamily {
  std::string_view type;          ///< model_type
  std::string_view architecture;  ///< class in `architectures`
  bool gated_mlp = true;
  std::string_view activation = "silu";
  NormKind norm = NormKind::rms_norm;
  bool norm_after = false;
  bool qk_norm = false;
  PositionKind positions = PositionKind::rotary;
  bool every_bias = false;       ///< all products have a bias
  bool qkv_bias = false;         ///< the first product of attention has one
  bool tied_embeddings = false;  ///< where tie_word_embeddings is absent
  std::int64_t head_dim = 0;     ///< where head_dim is absent; 0: hidden / heads
  WindowRule windows = WindowRule::never;
  std::int64_t sliding_window = 0;  ///< where sliding_window is absent
};

/// Every family that is supported, sorted by type.
std::span<const HfFamily> hf_families();
/// Returns the family of a model_type, or null.
const HfFamily* hf_family_of_type(std::string_view type);
/// Returns the family of a class in `architectures`, or null.
const HfFamily* hf_family_of_architecture(std::string_view architecture);

}  // namespace weft::model
