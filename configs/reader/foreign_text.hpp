// SPDX-License-Identifier: Apache-2.0
// Text that other people's programs printed: its lines without what terminals and shells add, and
// what a reading of them found. Notes say what was assumed, ignored or looks wrong and go on;
// errors are thrown together at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::config {

/// A line by its number, counted from 1.
struct TextLine {
  std::uint32_t number = 0;
  std::string text;
};

/// Returns the lines without byte order mark, carriage returns and terminal escapes; tabs stay.
[[nodiscard]] std::vector<TextLine> text_lines(std::string_view text);

/// Returns what stands between blanks and tabs.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);
/// Returns the text without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// Returns the whole text as a number of the given base; nothing if it is none or does not fit.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text, int base = 10);
/// Returns the whole text as a finite number; nothing if it is none.
[[nodiscard]] std::optional<double> real_number(std::string_view text);

/// What a reading has found so far. Findings beyond a thousand of a kind are counted, not kept.
class Findings {
 public:
  explicit Findings(std::string file) : file_(std::move(file)) {}

  const std::string& file() const { return file_; }
  /// Records something that the reading goes on after; line 0 is the whole file.
  void note(std::uint32_t line, std::string message, std::string hint = {});
  /// Records something that makes the file useless.
  void error(std::uint32_t line, std::string message, std::string hint = {});
  bool good() const { return errors_.empty(); }
  /// Throws ConfigErrors if there was any error.
  void throw_errors();
  /// Returns the notes, in file order.
  std::vector<ConfigError> take_notes();

 private:
  void add(std::vector<ConfigError>& to, std::uint32_t line, std::string message, std::string hint);

  std::string file_;
  std::vector<ConfigError> notes_, errors_;
  std::size_t left_out_ = 0;
};

}  // namespace weft::config
