// SPDX-License-Identifier: Apache-2.0
// A unity build compiles the files of a directory together, so that what they keep to themselves in
// unnamed namespaces must not meet under one name.

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/house/tree.hpp"

namespace weft::house {
namespace {

/// What a line at the margin of an unnamed namespace defines: a type or constant by name, a function
/// by name and parameters.
std::optional<std::string> defined_by(const std::string& line) {
  static const std::regex type(R"(^(?:struct|class|enum class|enum) (\w+)[^;]*$|^using (\w+) =.*)");
  static const std::regex object(
      R"(^(?:inline |static |constexpr |const )+.*?(\w+)(?: =|\{|\[| =$|$))");
  static const std::regex registration(R"(^const \w+ (\w+)\()");
  static const std::regex function(R"(^[^(=]*[\s&*>](\w+\([^{;]*\)))");
  std::smatch match;
  if (std::regex_search(line, match, type)) {
    return match[1].matched ? match[1].str() : match[2].str();
  }
  if (std::regex_search(line, match, registration)) return match[1].str();
  if (std::regex_search(line, match, function)) return match[1].str();
  if (std::regex_search(line, match, object)) return match[1].str();
  return std::nullopt;
}

TEST(Names, OfUnnamedNamespacesAreUniqueInADirectory) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> definitions;
  for (const auto& file : source_tree()) {
    const std::string path = file.path.generic_string();
    const bool apart = path.starts_with("kernels/") || path.starts_with("tests/kernels/") ||
                       path.starts_with("tests/bench/");  // no unity builds there
    if (file.path.extension() != ".cpp" || apart) continue;
    bool unnamed = false;
    for (const auto& line : file.lines) {
      if (line == "namespace {") unnamed = true;
      if (line == "}  // namespace") unnamed = false;
      if (!unnamed || line.empty() || line.find_first_of(" }/#)") == 0) continue;
      if (const auto name = defined_by(line)) {
        definitions[{file.path.parent_path().generic_string(), *name}].insert(
            file.path.generic_string());
      }
    }
  }
  for (const auto& [name, files] : definitions) {
    EXPECT_EQ(files.size(), 1U) << name.second << " in " << *files.begin() << " and "
                                << *files.rbegin();
  }
}

TEST(Names, AreReadOffDefinitions) {
  EXPECT_EQ(defined_by("struct Price {"), "Price");
  EXPECT_EQ(defined_by("struct Declared;"), std::nullopt);
  EXPECT_EQ(defined_by("constexpr int threads = 128;"), "threads");
  EXPECT_EQ(defined_by("constexpr sim::SmDemand demand{1, 2, 3};"), "demand");
  EXPECT_EQ(defined_by("const Registration serial(std::make_unique<Serial>());"), "serial");
  EXPECT_EQ(defined_by("std::string joined(const std::vector<int>& lines) {"),
            "joined(const std::vector<int>& lines)");
}

}  // namespace
}  // namespace weft::house
