// SPDX-License-Identifier: Apache-2.0
// The place of an error that was found after its file was read.
#pragma once

#include "configs/reader/error.hpp"

namespace weft::config {

/// Returns the error with the place of what it points at, or of the nearest thing around it that
/// the file has, where only the pointer was known; unchanged if the file cannot be read again.
ConfigError located(ConfigError error);

}  // namespace weft::config
