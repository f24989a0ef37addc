// SPDX-License-Identifier: Apache-2.0
// Where a reader stands: a value, its JSON pointer, and the reading to which its errors go.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/value.hpp"

namespace weft::config {

/// A place and pointer of a document, kept to report an error about it later.
struct Origin {
  Place place;
  std::string json_pointer;
};

/// One parameter {value, source} that a reading met.
struct SourcedUse {
  std::string file;
  std::string json_pointer;
  std::string value;
  std::string source_kind;
  std::string reference;
  friend bool operator==(const SourcedUse&, const SourcedUse&) = default;
};

/// What one reading of one document has found so far.
struct Reading {
  std::string file;
  Dialect dialect = Dialect::strict;
  std::vector<ConfigError> errors;
  /// Keys of a tolerant document that nobody read, and its other oddities.
  std::vector<ConfigError> notes;
  /// Every parameter with a source, in reading order.
  std::vector<SourcedUse> sources;

  void add_error(const Origin& origin, std::string message, std::string hint);
};

class Spot {
 public:
  /// The root of a document.
  Spot(Reading& reading, const Value& root) : reading_(&reading), value_(&root) {}

  const Value& value() const { return *value_; }
  Reading& reading() const { return *reading_; }
  /// Returns the spot of an item or a member; valid while this one lives.
  Spot item(std::size_t index) const;
  Spot member(const Member& member) const;

  /// Returns place and pointer.
  Origin origin() const;
  std::string pointer() const;
  /// Records an error here.
  void error(std::string message, std::string hint = {}) const;
  /// Records that the value is of the wrong kind: "expected an array, not an integer".
  void expected(std::string_view what, std::string hint = {}) const;

 private:
  Spot(const Spot& parent, const Value& value, const std::string* key, std::size_t index)
      : reading_(parent.reading_), value_(&value), parent_(&parent), key_(key), index_(index) {}

  Reading* reading_;
  const Value* value_;
  const Spot* parent_ = nullptr;
  const std::string* key_ = nullptr;
  std::size_t index_ = 0;
};

}  // namespace weft::config
