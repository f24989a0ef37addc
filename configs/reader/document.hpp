// SPDX-License-Identifier: Apache-2.0
// A JSON document with the place of everything in it. Syntax errors, text that is not UTF-8,
// nesting and size beyond the limits throw ConfigErrors at once; duplicate keys are kept, to be
// reported with the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/value.hpp"
#include "sim/units/bytes.hpp"

namespace weft::config {

/// How to take what our own formats forbid: `tolerant` is for other people's files, where a byte
/// order mark, duplicate keys (the last one counts) and keys that nobody reads become notes instead
/// of errors.
enum class Dialect { strict, tolerant };

struct ParseOptions {
  Dialect dialect = Dialect::strict;
  /// The number of the first line: a record of a JSON-lines file is a document that begins further
  /// down.
  std::uint32_t first_line = 1;
  Bytes max_size = Bytes::from(std::int64_t{32} << 20);
  int max_depth = 128;
};

class Document {
 public:
  /// Reads a file; messages name it as given here.
  static Document load(const std::filesystem::path& file, const ParseOptions& options = {});
  /// Reads text; messages call it `name`.
  static Document parse(std::string_view text, std::string name, const ParseOptions& options = {});

  /// Returns the name of the file, for messages.
  const std::string& name() const { return name_; }
  /// Returns the value of the document.
  const Value& root() const { return root_; }
  /// Returns how forgiving the document is.
  Dialect dialect() const { return dialect_; }
  /// Returns the text of the top-level key "schema", or "" if there is none.
  std::string schema() const;
  /// Returns the errors (strict) or notes (tolerant) of a document that could be parsed.
  const std::vector<ConfigError>& findings() const { return findings_; }

 private:
  Document() = default;

  std::string name_;
  Value root_;
  Dialect dialect_ = Dialect::strict;
  std::vector<ConfigError> findings_;
};

/// Returns the content of a file of at most `max_size` bytes; throws ConfigErrors if it cannot be
/// read.
std::string read_text(const std::filesystem::path& file, Bytes max_size);

}  // namespace weft::config
