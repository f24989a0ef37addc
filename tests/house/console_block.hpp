// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/house/tree.hpp"

namespace weft::house {

/// One command that a document shows, and what the document says that it prints.
struct Example {
  std::string place;                  ///< "README.md:12".
  std::string command;                ///< Without the prompt.
  int exit_code = 0;                  ///< What it has to return.
  std::vector<std::string> expected;  ///< Empty: the document does not say.
};

/// The `$ weft ...` commands in the ```console blocks of a document. A block for a command that
/// fails says so in its first line: ```console exit=1. A line that ends in a backslash continues.
std::vector<Example> examples_of(const SourceFile& document);

/// Whether a line is as expected; "..." inside it stands for any text.
bool line_matches(const std::string& expected, const std::string& line);

/// Whether the lines are as expected; a line "..." stands for any number of lines.
bool output_matches(const std::vector<std::string>& expected,
                    const std::vector<std::string>& lines);

}  // namespace weft::house
