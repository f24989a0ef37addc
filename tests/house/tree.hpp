// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::house {

/// One text file of the source tree.
struct SourceFile {
  std::filesystem::path path;  ///< Relative to the root of the tree.
  std::vector<std::string> lines;

  /// "path:line", lines counted from one.
  std::string at(std::size_t index) const;
};

/// Every text file of the source tree that the working directory is the root of, by path; build
/// trees and dot-directories other than .ci are left out. Read once.
const std::vector<SourceFile>& source_tree();

/// Whether the file is C++ or CUDA.
bool is_code(const SourceFile& file);

/// Whether the file is included by others.
bool is_header(const SourceFile& file);

}  // namespace weft::house
