// SPDX-License-Identifier: Apache-2.0
// Which keys of a config.json say that the model has something that is not simulated yet, and which
// keys change nothing that is.
#pragma once

#include "configs/reader/strict_object.hpp"

namespace weft::model {

/// Records an error for every feature that is not supported yet, by name, and returns how many.
int refuse_unsupported_features(config::StrictObject& object);

/// Reads the keys that change no shape, FLOP or byte: token ids, initialisers, scales, rotary
/// settings.
void pass_over_irrelevant_keys(config::StrictObject& object);

}  // namespace weft::model
