// SPDX-License-Identifier: Apache-2.0
// A caller's mistake stops the caller, in every build: WEFT_CHECK(cond, "sentence {}", value).
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace weft {

/// A contract that the caller broke: what() is "file:line: sentence (condition)".
class CheckFailure : public std::logic_error {
 public:
  CheckFailure(const char* file, int line, const std::string& what)
      : std::logic_error(what), file_(file), line_(line) {}
  /// Returns the source file of the check.
  const char* file() const noexcept { return file_; }
  /// Returns the line of the check.
  int line() const noexcept { return line_; }

 private:
  const char* file_;
  int line_;
};

namespace detail {

[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             fmt::string_view sentence, fmt::format_args values);

template <class... Values>
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               fmt::format_string<Values...> sentence, Values&&... values) {
  fail_check(file, line, condition, sentence, fmt::make_format_args(values...));
}

}  // namespace detail
}  // namespace weft

/// Throws weft::CheckFailure with the formatted sentence unless the condition holds.
#define WEFT_CHECK(condition, ...) \
  (static_cast<bool>(condition)    \
       ? static_cast<void>(0)      \
       : ::weft::detail::check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__))
