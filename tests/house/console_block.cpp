// SPDX-License-Identifier: Apache-2.0
#include "tests/house/console_block.hpp"

#include <functional>
#include <stdexcept>
#include <utility>

namespace weft::house {
namespace {

const std::string kFence = "```";
const std::string kBlock = "```console";
const std::string kExit = "exit=";
const std::string kPrompt = "$ ";

/// Matches two sequences; a wildcard of the first stands for any number of elements of the second.
template <typename Wildcard, typename Equal>
bool glob(std::size_t pattern_size, std::size_t text_size, Wildcard is_wildcard, Equal equal) {
  std::size_t i = 0;
  std::size_t j = 0;
  bool have_star = false;
  std::size_t star = 0;
  std::size_t resume = 0;
  while (j < text_size) {
    if (i < pattern_size && is_wildcard(i)) {
      have_star = true;
      star = i++;
      resume = j;
    } else if (i < pattern_size && equal(i, j)) {
      ++i;
      ++j;
    } else if (have_star) {
      i = star + 1;
      j = ++resume;
    } else {
      return false;
    }
  }
  while (i < pattern_size && is_wildcard(i)) ++i;
  return i == pattern_size;
}

bool is_weft(const std::string& command) {
  return command == "weft" || command.starts_with("weft ");
}

int exit_code_of(const SourceFile& document, std::size_t index) {
  const std::string& line = document.lines[index];
  const std::string rest = line.substr(kBlock.size());
  if (rest.find_first_not_of(' ') == std::string::npos) return 0;
  const auto at = rest.find(kExit);
  if (at == std::string::npos) {
    throw std::runtime_error(document.at(index) + ": unknown words after ```console:" + rest);
  }
  return std::stoi(rest.substr(at + kExit.size()));
}

}  // namespace

std::vector<Example> examples_of(const SourceFile& document) {
  std::vector<Example> examples;
  const auto& lines = document.lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(kBlock)) continue;
    const int exit_code = exit_code_of(document, i);
    bool listening = false;
    for (++i; i < lines.size() && lines[i] != kFence; ++i) {
      if (lines[i].starts_with(kPrompt)) {
        Example example{document.at(i), lines[i].substr(kPrompt.size()), exit_code, {}};
        while (example.command.ends_with('\\') && i + 1 < lines.size()) {
          example.command.back() = ' ';
          example.command += lines[++i];
        }
        listening = is_weft(example.command);
        if (listening) examples.push_back(std::move(example));
      } else if (listening) {
        examples.back().expected.push_back(lines[i]);
      }
    }
  }
  return examples;
}

bool line_matches(const std::string& expected, const std::string& line) {
  std::vector<std::string> tokens;  // "..." or single characters
  for (std::size_t i = 0; i < expected.size();) {
    const std::size_t length = expected.compare(i, 3, "...") == 0 ? 3 : 1;
    tokens.push_back(expected.substr(i, length));
    i += length;
  }
  return glob(
      tokens.size(), line.size(), [&](std::size_t i) { return tokens[i].size() == 3; },
      [&](std::size_t i, std::size_t j) { return tokens[i][0] == line[j]; });
}

bool output_matches(const std::vector<std::string>& expected,
                    const std::vector<std::string>& lines) {
  return glob(
      expected.size(), lines.size(), [&](std::size_t i) { return expected[i] == "..."; },
      [&](std::size_t i, std::size_t j) { return line_matches(expected[i], lines[j]); });
}

}  // namespace weft::house
