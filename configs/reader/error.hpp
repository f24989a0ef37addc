// SPDX-License-Identifier: Apache-2.0
// What is wrong with a user's file, and where: every error of the file at once.
#pragma once

#include <compare>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/value.hpp"

namespace weft::config {

/// One error; line 0 means that it concerns the whole file, and an empty pointer the whole
/// document.
struct ConfigError {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string json_pointer;
  std::string message;
  std::string hint;
  friend bool operator==(const ConfigError&, const ConfigError&) = default;
};

/// Returns `file:line:column: /json/pointer: what is wrong (hint)`, without the parts that are
/// empty.
std::string to_string(const ConfigError& error);

/// All errors of one reading, sorted by file and place; what() has one line for each, up to a
/// hundred.
class ConfigErrors : public std::runtime_error {
 public:
  explicit ConfigErrors(std::vector<ConfigError> errors);
  /// Makes the exception of a single error.
  explicit ConfigErrors(ConfigError error);
  /// Returns the errors, sorted; never empty.
  const std::vector<ConfigError>& errors() const noexcept { return errors_; }

 private:
  std::vector<ConfigError> errors_;
};

/// Returns the JSON pointer (RFC 6901) of a member or item of what `parent` points at.
std::string pointer_to(std::string_view parent, std::string_view key);
std::string pointer_to(std::string_view parent, std::size_t index);

}  // namespace weft::config
