// SPDX-License-Identifier: Apache-2.0
// A job as its overlap file asks for it, beside weft's picks, as text and as JSON.
#pragma once

#include <string>

#include "configs/reader/value.hpp"
#include "models/export/asked.hpp"

namespace weft::tool {

/// A row a boundary, the step, and what was left out.
[[nodiscard]] std::string describe(const model::AskedPlan& asked);
[[nodiscard]] config::Value to_value(const model::AskedPlan& asked);

}  // namespace weft::tool
