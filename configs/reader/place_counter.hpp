// SPDX-License-Identifier: Apache-2.0
// Offsets of a text as line and column, for offsets that only grow; private to the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/value.hpp"

namespace weft::config::detail {

class PlaceCounter {
 public:
  PlaceCounter(std::string_view text, std::uint32_t first_line)
      : text_(text), place_{first_line, 1} {}

  /// Returns the place of the character at `offset`, which is not before the last one asked for.
  Place at(std::size_t offset) {
    for (; at_ < offset && at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if (at_ + 1 == text_.size() || !continues(text_[at_ + 1])) {
        ++place_.column;
      }
    }
    return place_;
  }

 private:
  // Whether the byte continues a character of UTF-8.
  static bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
};

}  // namespace weft::config::detail
