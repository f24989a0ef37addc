// SPDX-License-Identifier: Apache-2.0
// A user's text in a message: short, and printable whatever was typed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

/// Returns the text in double quotes, control characters as \xNN, cut after `longest` bytes at a
/// character's end.
std::string in_quotes(std::string_view text, std::size_t longest = 40);

}  // namespace weft
