// SPDX-License-Identifier: Apache-2.0
// Text as it may stand in XML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace weft::tool {

/// Returns the text with markup escaped and without the control characters that XML 1.0 does not allow.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace weft::tool
