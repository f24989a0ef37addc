// SPDX-License-Identifier: Apache-2.0
// What a document format accepts, as the reader itself declares it: the same code that reads a
// document is run against no document and says which keys it would read. `weft schema` prints this;
// docs are made from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "configs/reader/value.hpp"

namespace weft::config {

struct KeyDescription;

/// What a value must be.
struct TypeDescription {
  /// "string", "integer", "real", "boolean", "duration", "size", "bandwidth", "amount of work",
  /// "rate of work", "choice", "file", "array", "map", "object", "any", or "sourced" (a parameter
  /// {value, source}).
  std::string type;
  /// The spellings of the unit, for quantities.
  std::vector<std::string> units = {};
  /// The range in words, "" if every value is allowed.
  std::string range = {};
  /// The names to choose from.
  std::vector<std::string> choices = {};
  /// The type of an array's items, a map's values or a sourced value: none or one.
  std::vector<TypeDescription> element = {};
  /// The keys of an object. (No initializer here: it would need KeyDescription whole.)
  std::vector<KeyDescription> keys;
  friend bool operator==(const TypeDescription&, const TypeDescription&);
};

/// One key of an object.
struct KeyDescription {
  std::string name;
  /// One sentence.
  std::string doc;
  bool required = false;
  /// What an absent key means, if it has a default.
  std::optional<Value> fallback;
  /// The choice under which the key is read ("kind = ring"), or "".
  std::string when;
  TypeDescription type;
  friend bool operator==(const KeyDescription&, const KeyDescription&);
};

/// Returns an indented listing of an object's keys, at most `width` characters wide where words
/// allow it.
std::string to_text(const TypeDescription& object, std::size_t width = 100);
/// Returns the description as a JSON value.
Value to_value(const TypeDescription& type);

}  // namespace weft::config
