// SPDX-License-Identifier: Apache-2.0
#include "sim/units/quote.hpp"

#include <fmt/format.h>

namespace weft {
namespace {

// Whether the byte continues a character of UTF-8.
bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace

std::string in_quotes(std::string_view text, std::size_t longest) {
  std::size_t end = text.size();
  if (end > longest) {
    end = longest;
    while (end > 0 && continues(text[end])) --end;
  }
  std::string out = "\"";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (end < text.size() ? "...\"" : "\"");
}

}  // namespace weft
