// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/foreign_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace weft::config {
namespace {

constexpr std::size_t kMostOfAKind = 1000;
constexpr std::string_view kBlanks = " \t\v\f";

/// Skips an escape sequence of a terminal that begins at `at` (ECMA-48, sections 5.3 and 5.4).
std::size_t after_escape(std::string_view text, std::size_t at) {
  ++at;
  if (at >= text.size()) return at;
  if (text[at] != '[') return at + 1;
  ++at;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
  return std::min(at + 1, text.size());
}

std::string without_escapes(std::string_view line) {
  std::string plain;
  plain.reserve(line.size());
  for (std::size_t i = 0; i < line.size();) {
    if (line[i] == '\x1b') {
      i = after_escape(line, i);
    } else {
      if (line[i] != '\r' && line[i] != '\0') plain += line[i];
      ++i;
    }
  }
  return plain;
}

}  // namespace

std::vector<TextLine> text_lines(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<TextLine> lines;
  std::uint32_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back({++number, without_escapes(text.substr(begin, end - begin))});
    begin = end + 1;
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<std::int64_t> whole_number(std::string_view text, int base) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> real_number(std::string_view text) {
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

void Findings::add(std::vector<ConfigError>& to, std::uint32_t line, std::string message,
                   std::string hint) {
  if (to.size() >= kMostOfAKind) {
    ++left_out_;
    return;
  }
  to.push_back({.file = file_,
                .line = line,
                .column = line == 0 ? 0U : 1U,
                .json_pointer = {},
                .message = std::move(message),
                .hint = std::move(hint)});
}

void Findings::note(std::uint32_t line, std::string message, std::string hint) {
  add(notes_, line, std::move(message), std::move(hint));
}

void Findings::error(std::uint32_t line, std::string message, std::string hint) {
  add(errors_, line, std::move(message), std::move(hint));
}

void Findings::throw_errors() {
  if (!errors_.empty()) throw ConfigErrors(std::move(errors_));
}

std::vector<ConfigError> Findings::take_notes() {
  std::stable_sort(notes_.begin(), notes_.end(),
                   [](const ConfigError& a, const ConfigError& b) { return a.line < b.line; });
  if (left_out_ != 0) {
    notes_.push_back({.file = file_,
                      .line = 0,
                      .column = 0,
                      .json_pointer = {},
                      .message = std::to_string(left_out_) + " more notes are left out",
                      .hint = {}});
  }
  return std::exchange(notes_, {});
}

}  // namespace weft::config
