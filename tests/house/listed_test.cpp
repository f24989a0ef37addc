// SPDX-License-Identifier: Apache-2.0
// Files are listed in the CMakeLists.txt of their room or part, so that nothing lies unbuilt and
// nothing that is installed leans on what is not.

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/house/tree.hpp"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

/// The words of every CMakeLists.txt, read as paths from its directory.
std::set<std::string> listed_paths() {
  static const std::regex word(R"([A-Za-z0-9_./-]+\.(cpp|hpp|cu|cuh|h)\b)");
  std::set<std::string> listed;
  for (const auto& file : source_tree()) {
    if (file.path.filename() != "CMakeLists.txt") continue;
    for (const auto& line : file.lines) {
      for (std::sregex_iterator match(line.begin(), line.end(), word), end; match != end; ++match) {
        listed.insert((file.path.parent_path() / match->str()).lexically_normal().generic_string());
      }
    }
  }
  return listed;
}

TEST(Listed, EverySourceIsBuilt) {
  const auto listed = listed_paths();
  for (const auto& file : source_tree()) {
    const std::string path = file.path.generic_string();
    if (!is_code(file) || is_header(file) || path.starts_with("tests/consumer/")) continue;
    EXPECT_TRUE(listed.contains(path)) << path << " is in no CMakeLists.txt";
  }
}

TEST(Listed, InstalledHeadersIncludeInstalledHeadersOnly) {
  static const std::regex quoted(R"(^\s*#\s*include\s*\"([^\"]+)\")");
  const auto listed = listed_paths();
  for (const auto& file : source_tree()) {
    if (!is_header(file) || !listed.contains(file.path.generic_string())) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, quoted)) continue;
      EXPECT_TRUE(listed.contains(match[1].str()))
          << file.at(i) << ": " << match[1].str() << " is not among the HEADERS of its library";
    }
  }
}

}  // namespace
}  // namespace weft::house
