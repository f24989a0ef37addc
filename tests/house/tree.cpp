// SPDX-License-Identifier: Apache-2.0
#include "tests/house/tree.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

namespace weft::house {
namespace fs = std::filesystem;

std::string SourceFile::at(std::size_t index) const {
  return path.generic_string() + ":" + std::to_string(index + 1);
}

namespace {

bool is_build_tree(const fs::path& directory) {
  const std::string name = directory.filename().string();
  return name == "b" || name == "out" || name.starts_with("build") ||
         (name.starts_with(".") && name != ".ci");
}

bool is_text(const fs::path& path) {
  static const std::set<std::string> extensions = {".cpp",   ".hpp", ".cu",   ".cuh", ".h",
                                                   ".cmake", ".in",  ".json", ".md",  ".sh",
                                                   ".txt",   ".csv", ""};
  return extensions.contains(path.extension().string());
}

SourceFile read(const fs::path& path) {
  SourceFile file{path, {}};
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);) file.lines.push_back(std::move(line));
  return file;
}

std::vector<SourceFile> read_tree() {
  if (!fs::exists("CMakePresets.json")) {
    throw std::runtime_error("run this test from the root of the source tree");
  }
  std::vector<fs::path> paths;
  for (auto entry = fs::recursive_directory_iterator("."); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && is_build_tree(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_text(entry->path()) &&
               entry->path().filename() != ".git") {
      paths.push_back(entry->path().lexically_relative("."));
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  files.reserve(paths.size());
  for (const auto& path : paths) files.push_back(read(path));
  return files;
}

}  // namespace

const std::vector<SourceFile>& source_tree() {
  static const std::vector<SourceFile> tree = read_tree();
  return tree;
}

bool is_header(const SourceFile& file) {
  const auto extension = file.path.extension();
  return extension == ".hpp" || extension == ".cuh" || extension == ".h";
}

bool is_code(const SourceFile& file) {
  const auto extension = file.path.extension();
  return is_header(file) || extension == ".cpp" || extension == ".cu";
}

}  // namespace weft::house
