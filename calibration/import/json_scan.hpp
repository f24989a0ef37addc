// SPDX-License-Identifier: Apache-2.0
// A JSON text of any length, token by token, in constant memory: for traces of a gigabyte. It checks
// what it needs to find its way, not that the text is strict JSON; a text that ends early is said to
// be cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::calibration {

class JsonScanner {
 public:
  enum class Token : std::uint8_t {
    begin_object,
    end_object,
    begin_array,
    end_array,
    key,
    string,
    number,
    literal,  ///< true, false, null
    end,      ///< of the text
    broken    ///< cut, or no JSON: nothing follows
  };
  /// Fills a buffer and returns how many bytes it got; 0 at the end.
  using Source = std::function<std::size_t(char*, std::size_t)>;

  explicit JsonScanner(Source source);

  Token next();
  /// Returns the text of the last key, string, number or literal, escapes decoded (\u as UTF-8).
  std::string_view text() const { return text_; }
  /// Passes over the value that the next token begins, or over the rest of one just begun.
  void skip();
  /// Passes over everything to the end of the container that was begun last.
  void leave();

  std::uint64_t offset() const { return passed_ + at_; }
  std::uint64_t line() const { return line_; }

 private:
  bool fill();
  int peek();
  Token string_token();
  bool escape();
  Token word_token();
  void skip_string();

  Source source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, size_ = 0;
  std::uint64_t passed_ = 0, line_ = 1;
  std::string text_;
  std::vector<bool> objects_;  ///< of the open containers, whether each is an object
  bool expects_key_ = false;
  bool broken_ = false;
};

/// Reads a file, plain or compressed with gzip; throws config::ConfigErrors if it cannot be opened.
[[nodiscard]] JsonScanner::Source file_source(const std::string& file);
/// Reads from text, which must outlive it.
[[nodiscard]] JsonScanner::Source text_source(std::string_view text);

}  // namespace weft::calibration
