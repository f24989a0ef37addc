// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace weft {

/// Returns the name closest to `typed` by edits (a change of case is half an edit, a swap of
/// neighbours is one), the first of equals; if all are further than a third of its letters and one
/// edit, the shortest that begins with its three letters or more, or nothing.
std::optional<std::string> nearest_name(std::string_view typed,
                                        std::span<const std::string_view> names);

}  // namespace weft
