// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/error.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace weft::config {
namespace {

constexpr std::size_t kMostLines = 100;
constexpr std::size_t kLongestToken = 200;

std::vector<ConfigError> sorted(std::vector<ConfigError> errors) {
  std::ranges::stable_sort(errors, {}, [](const ConfigError& e) {
    return std::tie(e.file, e.line, e.column, e.json_pointer);
  });
  return errors;
}

std::string lines(const std::vector<ConfigError>& errors) {
  std::string out;
  for (std::size_t i = 0; i < std::min(errors.size(), kMostLines); ++i) {
    if (i > 0) out += '\n';
    out += to_string(errors[i]);
  }
  if (errors.size() > kMostLines) {
    out += fmt::format("\n{}: and {} more errors", errors.back().file, errors.size() - kMostLines);
  }
  return out;
}

}  // namespace

std::string to_string(const ConfigError& error) {
  std::string out = error.file;
  if (error.line > 0) out += fmt::format(":{}:{}", error.line, error.column);
  if (!out.empty()) out += ": ";
  if (!error.json_pointer.empty()) out += error.json_pointer + ": ";
  out += error.message;
  if (!error.hint.empty()) out += " (" + error.hint + ")";
  return out;
}

ConfigErrors::ConfigErrors(std::vector<ConfigError> errors)
    : std::runtime_error(lines(sorted(errors))), errors_(sorted(std::move(errors))) {}

ConfigErrors::ConfigErrors(ConfigError error)
    : ConfigErrors(std::vector<ConfigError>{std::move(error)}) {}

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string out(parent);
  out += '/';
  for (const char c : key.substr(0, kLongestToken)) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  if (key.size() > kLongestToken) out += "...";
  return out;
}

std::string pointer_to(std::string_view parent, std::size_t index) {
  return fmt::format("{}/{}", parent, index);
}

}  // namespace weft::config
