// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/located.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "configs/reader/document.hpp"

namespace weft::config {

ConfigError located(ConfigError error) {
  if (error.line != 0 || error.file.empty() || error.json_pointer.empty()) return error;
  try {
    const Document document = Document::load(error.file);
    const Value* at = &document.root();
    std::string_view rest = error.json_pointer;
    while (rest.starts_with('/')) {
      const std::size_t end = std::min(rest.find('/', 1), rest.size());
      const std::string_view token = rest.substr(1, end - 1);
      const Value* next = nullptr;
      if (at->is_object()) {
        for (const Member& member : at->members()) {
          if (pointer_to("", member.key).substr(1) == token) next = &member.value;
        }
      } else if (at->is_array()) {
        for (std::size_t i = 0; i < at->items().size() && next == nullptr; ++i) {
          if (pointer_to("", i).substr(1) == token) next = &at->items()[i];
        }
      }
      if (next == nullptr) break;
      at = next;
      rest.remove_prefix(end);
    }
    error.line = at->place().line;
    error.column = at->place().column;
  } catch (const ConfigErrors&) {
    // The file is gone or changed: what was said of it stays as it was.
  }
  return error;
}

}  // namespace weft::config
