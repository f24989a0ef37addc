// SPDX-License-Identifier: Apache-2.0
// The arrows between the rooms, read off the includes: each part of the tree sees the parts on its
// line below and itself, and nothing else.

#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/house/tree.hpp"

namespace weft::house {
namespace {

struct Part {
  std::string prefix;            ///< Path that its files start with; the longest match counts.
  std::string name;              ///< How other parts speak of it.
  std::set<std::string> sees{};  ///< Names of the parts that its files may include.
};

/// units <- sim <- topologies <- models <- calibration <- tools, with the reader on units and the
/// two leaves kernels/shapes and calibration/sample beside them.
const std::vector<Part>& parts() {
  static const std::vector<Part> all = {
      {"sim/units/", "units", {}},
      {"configs/reader/", "reader", {"units"}},
      {"kernels/shapes/", "shapes", {"units"}},
      {"calibration/sample/", "sample", {"units", "reader"}},
      {"sim/", "sim", {"units"}},
      {"topologies/", "topologies", {"units", "sim", "reader"}},
      {"models/", "models", {"units", "sim", "topologies", "reader", "shapes"}},
      {"calibration/",
       "calibration",
       {"units", "sim", "topologies", "models", "reader", "shapes", "sample"}},
      {"kernels/", "kernels", {"units", "reader", "shapes", "sample"}},
      {"tools/",
       "tools",
       {"units", "sim", "topologies", "models", "calibration", "reader", "shapes", "sample"}},
  };
  return all;
}

/// Inside models: profile <- cost; cost, layouts <- workloads <- schedules <- planner; other
/// people's files become workloads in import, which the planner sees.
const std::vector<Part>& parts_of_models() {
  static const std::vector<Part> all = {
      {"models/profile/", "profile", {}},
      {"models/cost/", "cost", {"profile"}},
      {"models/layouts/", "layouts", {}},
      {"models/workloads/", "workloads", {"profile", "cost", "layouts"}},
      {"models/schedules/", "schedules", {"profile", "cost", "layouts", "workloads"}},
      {"models/import/", "import", {"profile", "cost", "layouts", "workloads"}},
      {"models/planner/",
       "planner",
       {"profile", "cost", "layouts", "workloads", "schedules", "import"}},
      {"models/export/",
       "export",
       {"profile", "cost", "layouts", "workloads", "schedules", "import", "planner"}},
  };
  return all;
}

const Part* part_of(const std::string& path, const std::vector<Part>& all) {
  const Part* best = nullptr;
  for (const auto& part : all) {
    if (path.starts_with(part.prefix) && (!best || part.prefix.size() > best->prefix.size())) {
      best = &part;
    }
  }
  return best;
}

struct Include {
  std::string target;
  bool quoted;
};

std::optional<Include> include_of(const std::string& line) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::smatch match;
  if (!std::regex_search(line, match, pattern)) return std::nullopt;
  return Include{match[2].str(), match[1].str() == "\""};
}

void expect_arrows_hold(const std::vector<Part>& all) {
  for (const auto& file : source_tree()) {
    const Part* from = is_code(file) ? part_of(file.path.generic_string(), all) : nullptr;
    if (!from) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto include = include_of(file.lines[i]);
      const Part* to = include ? part_of(include->target, all) : nullptr;
      if (!to || to == from) continue;
      EXPECT_TRUE(from->sees.contains(to->name))
          << file.at(i) << ": " << from->name << " must not see " << to->name << " ("
          << include->target << ")";
    }
  }
}

TEST(Includes, ArrowsBetweenRoomsPointOneWay) {
  expect_arrows_hold(parts());
}

TEST(Includes, ArrowsInsideModelsPointOneWay) {
  expect_arrows_hold(parts_of_models());
}

// The table itself: following what a part sees never leads back to it.
TEST(Includes, TheArrowsHaveNoCycle) {
  for (const auto* all : {&parts(), &parts_of_models()}) {
    std::map<std::string, std::set<std::string>> sees;
    for (const auto& part : *all) sees[part.name] = part.sees;
    for (const auto& [name, direct] : sees) {
      std::set<std::string> reached;
      std::vector<std::string> open(direct.begin(), direct.end());
      while (!open.empty()) {
        const std::string next = open.back();
        open.pop_back();
        if (reached.insert(next).second) {
          ASSERT_TRUE(sees.contains(next)) << next;
          open.insert(open.end(), sees[next].begin(), sees[next].end());
        }
      }
      EXPECT_FALSE(reached.contains(name)) << name;
    }
  }
}

// Only the code of weft is seen under quotes, from the root, and it exists.
TEST(Includes, QuotedOnesReadFromTheRoot) {
  std::set<std::string> paths;
  const auto& files = source_tree();
  for (const auto& file : files) paths.insert(file.path.generic_string());
  for (const auto& file : files) {
    if (!is_code(file)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto include = include_of(file.lines[i]);
      if (include && include->quoted) {
        EXPECT_TRUE(paths.contains(include->target)) << file.at(i) << ": " << include->target;
      }
    }
  }
}

// Installed code and programs do not lean on tests.
TEST(Includes, OnlyTestsSeeTests) {
  for (const auto& file : source_tree()) {
    if (!is_code(file) || file.path.begin()->string() == "tests") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto include = include_of(file.lines[i]);
      if (include) {
        EXPECT_FALSE(include->target.starts_with("tests/")) << file.at(i);
      }
    }
  }
}

/// A header that takes seconds to compile, and the parts whose .cpp files may pay for it.
struct Heavy {
  std::string prefix;
  std::map<std::string, std::size_t> files_by_directory;  ///< How many files there may include it.
};

const std::vector<Heavy>& heavy_headers() {
  static const std::vector<Heavy> all = {
      {"nlohmann/",
       {{"configs/reader/", 4},
        {"topologies/import/", 1},
        {"models/import/", 2},
        {"calibration/", 4},
        {"tools/", 4}}},
      {"CLI/", {{"tools/", 3}, {"kernels/measure/", 1}}},
      {"Eigen/", {{"calibration/", 4}}},
      {"boost/graph/", {{"topologies/", 3}}},
      {"pugixml", {{"topologies/import/", 1}}},
      {"yaml-cpp/", {{"models/import/", 1}, {"topologies/import/", 1}}},
      {"sqlite3", {{"calibration/import/", 1}}},
  };
  return all;
}

TEST(Includes, HeavyHeadersStayInAFewSources) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> users;
  for (const auto& file : source_tree()) {
    const std::string path = file.path.generic_string();
    if (!is_code(file) || path.starts_with("tests/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const auto include = include_of(file.lines[i]);
      if (!include) continue;
      for (const auto& heavy : heavy_headers()) {
        if (!include->target.starts_with(heavy.prefix)) continue;
        EXPECT_FALSE(is_header(file)) << file.at(i) << ": a header includes " << include->target;
        bool allowed = false;
        for (const auto& [directory, most] : heavy.files_by_directory) {
          if (!path.starts_with(directory)) continue;
          allowed = true;
          users[{heavy.prefix, directory}].insert(path);
        }
        EXPECT_TRUE(allowed) << file.at(i) << ": not a place for " << include->target;
      }
    }
  }
  for (const auto& heavy : heavy_headers()) {
    for (const auto& [directory, most] : heavy.files_by_directory) {
      EXPECT_LE(users[std::pair(heavy.prefix, directory)].size(), most)
          << heavy.prefix << " in " << directory;
    }
  }
}

}  // namespace
}  // namespace weft::house
