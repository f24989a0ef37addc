// SPDX-License-Identifier: Apache-2.0
// What every file and room of the tree has in common.

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/house/tree.hpp"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kRooms = {"sim",         "configs", "topologies", "models",
                                         "calibration", "kernels", "tools",      "tests"};

bool carries_licence(const SourceFile& file) {
  const std::string name = file.path.filename().string();
  const std::string extension = file.path.extension().string();
  return is_code(file) || extension == ".cmake" || extension == ".sh" || name == "CMakeLists.txt";
}

TEST(Files, SourcesNameTheirLicenceFirst) {
  for (const auto& file : source_tree()) {
    if (!carries_licence(file)) continue;
    const auto head = std::min<std::size_t>(file.lines.size(), 2);
    const bool found =
        std::any_of(file.lines.begin(), file.lines.begin() + static_cast<std::ptrdiff_t>(head),
                    [](const std::string& line) {
                      return line.find("SPDX-License-Identifier: Apache-2.0") != std::string::npos;
                    });
    EXPECT_TRUE(found) << file.at(0) << ": no SPDX line";
  }
}

// One idea a file: about 400 lines, and nothing above 450.
TEST(Files, NoneIsLongerThanOneIdea) {
  for (const auto& file : source_tree()) {
    if (is_code(file)) {
      EXPECT_LE(file.lines.size(), 450U) << file.path;
    }
  }
}

TEST(Files, HeadersAreGuarded) {
  for (const auto& file : source_tree()) {
    if (!is_header(file)) continue;
    const bool guarded =
        std::find(file.lines.begin(), file.lines.end(), "#pragma once") != file.lines.end();
    EXPECT_TRUE(guarded) << file.path << ": no #pragma once";
  }
}

// A path of the machine that a file was written on means nothing to anybody else. The patterns are
// put together here so that this file does not match them.
TEST(Files, SpeakOfNoOnesMachine) {
  const std::string start = R"((^|[\s"'`(=:]))";
  const std::regex machine_path(start + "/(" + "work|" + "root|" + "tmp|" + "home|" + "Users" +
                                ")/");
  const std::regex shared_folder(start + R"((\.\./)*)" + "share" + "d/");
  for (const auto& file : source_tree()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].size() > 2000 || file.lines[i].find('/') == std::string::npos) continue;
      EXPECT_FALSE(std::regex_search(file.lines[i], machine_path)) << file.at(i);
      EXPECT_FALSE(std::regex_search(file.lines[i], shared_folder)) << file.at(i);
    }
  }
}

/// Whether two capitals follow each other: quick, where the regular expression is slow.
bool has_capitals(const std::string& line) {
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  return std::adjacent_find(line.begin(), line.end(),
                            [&](char a, char b) { return capital(a) && capital(b); }) != line.end();
}

TEST(Files, PromiseNothingForLater) {
  const std::regex unfinished(std::string(R"(\b()") + "TO" + "DO|FIX" + "ME|XX" + R"(X)\b)");
  for (const auto& file : source_tree()) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].size() > 2000 || !has_capitals(file.lines[i])) continue;
      EXPECT_FALSE(std::regex_search(file.lines[i], unfinished)) << file.at(i);
    }
  }
}

TEST(Rooms, EachHasAShortReadme) {
  for (const auto& room : kRooms) {
    const fs::path path = fs::path(room) / "README.md";
    ASSERT_TRUE(fs::exists(path)) << path;
    for (const auto& file : source_tree()) {
      if (file.path != path) continue;
      EXPECT_GE(file.lines.size(), 3U) << path;
      EXPECT_LE(file.lines.size(), 10U) << path;
    }
  }
}

TEST(Rooms, TheRootHoldsThemAndWhatToolsForceThere) {
  std::set<std::string> allowed(kRooms.begin(), kRooms.end());
  allowed.insert({"docs", "CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"});
  for (const auto& file : source_tree()) {
    const std::string top = file.path.begin()->string();
    if (!top.starts_with(".")) {
      EXPECT_TRUE(allowed.contains(top)) << file.path;
    }
  }
}

}  // namespace
}  // namespace weft::house
