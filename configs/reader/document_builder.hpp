// SPDX-License-Identifier: Apache-2.0
// Builds the value of a document from the events of a JSON parser, with the place of every value
// and the duplicate keys; private to the reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/place_counter.hpp"
#include "configs/reader/value.hpp"

namespace weft::config {

class DocumentBuilder {
 public:
  /// `consumed` counts the bytes that the parser has taken; it runs at most one byte ahead of the
  /// last token.
  DocumentBuilder(std::string_view text, const std::string& name, const ParseOptions& options,
                  const std::size_t& consumed)
      : text_(text),
        name_(name),
        dialect_(options.dialect),
        consumed_(consumed),
        places_(text, options.first_line) {}

  void add(Value value);
  void begin(Value container);
  void end();
  void key(std::string key);

  /// Returns the pointer of the value that is being read.
  std::string pointer() const;
  /// Returns the place of a byte that is not before the last value.
  Place place_at(std::size_t offset) { return places_.at(offset); }
  /// Returns the first byte after the last value, key or bracket that is no separator.
  std::size_t next_token() const;

  Value take_root() { return std::move(root_); }
  std::vector<ConfigError> take_findings() { return std::move(findings_); }

 private:
  struct Frame {
    Value container;
    Place place;
    // Of an object: the key that waits for its value.
    std::string key;
    Place key_place;
    bool awaits_value = false;
    // Filled when a linear search no longer pays.
    std::unordered_map<std::string, std::size_t> index;
  };

  Place begin_token();
  void store(Value value, Place place);
  Member* find_member(Frame& frame);

  std::string_view text_;
  const std::string& name_;
  Dialect dialect_;
  const std::size_t& consumed_;
  detail::PlaceCounter places_;
  std::size_t last_end_ = 0;
  std::vector<Frame> frames_;
  Value root_;
  std::vector<ConfigError> findings_;
};

}  // namespace weft::config
