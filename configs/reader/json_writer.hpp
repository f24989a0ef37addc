// SPDX-License-Identifier: Apache-2.0
// JSON out: members in the order they are written, integers exact, real numbers as the shortest
// text that reads back the same, text that is not UTF-8 mended with U+FFFD. The same calls give the
// same bytes.
#pragma once

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/value.hpp"
#include "sim/units/integer.hpp"

namespace weft::config {

/// `pretty`: two blanks a level and a member a line, short arrays of plain values on one line;
/// `compact`: no blank.
enum class Layout { pretty, compact };

/// Returns the value as JSON text, with a newline at the end if pretty; throws CheckFailure for
/// infinity or NaN.
std::string to_json(const Value& value, Layout layout = Layout::pretty);

/// Writes JSON of any length piece by piece to a stream; a call out of place throws CheckFailure.
class JsonStream {
 public:
  explicit JsonStream(std::ostream& out, Layout layout = Layout::compact);
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;
  ~JsonStream();

  JsonStream& begin_object();
  JsonStream& end_object();
  JsonStream& begin_array();
  JsonStream& end_array();
  /// Writes the key of the next value.
  JsonStream& key(std::string_view key);

  JsonStream& value(std::same_as<bool> auto flag) { return boolean(flag); }
  JsonStream& value(std::integral auto number) requires(!std::same_as<decltype(number), bool>) {
    return integer(narrow(Int128{number}));
  }
  JsonStream& value(double number);
  JsonStream& value(std::string_view text);
  JsonStream& value(const std::string& text) { return value(std::string_view(text)); }
  JsonStream& value(const char* text) { return value(std::string_view(text)); }
  JsonStream& value(const Value& value);
  JsonStream& null();

  /// Writes key and value.
  template <class T>
  JsonStream& member(std::string_view name, const T& item) {
    return key(name).value(item);
  }

  /// Hands what is written so far to the stream.
  void flush();

 private:
  JsonStream& boolean(bool flag);
  JsonStream& integer(std::int64_t number);
  void before_value();
  void open(char bracket);
  void close(char bracket);
  void new_line();
  void token(std::string_view text);

  struct Level {
    bool is_object;
    bool empty;
  };

  std::ostream& out_;
  Layout layout_;
  std::string buffer_;
  std::vector<Level> levels_;
  bool after_key_ = false;
  bool done_ = false;
};

}  // namespace weft::config
