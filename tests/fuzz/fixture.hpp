// SPDX-License-Identifier: Apache-2.0
// The corpora of the fuzz targets as fixtures of tests, and what a reader says of them.
#pragma once

#include <string>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"

namespace weft::fixture {

/// The text of a corpus file, "topo_matrix/h100x8.txt"; tests run in the root of the tree.
inline std::string text_of(const std::string& name) {
  return config::read_text("tests/fuzz/corpus/" + name, Bytes::from(1 << 20));
}

/// Notes or errors as they are printed.
inline std::vector<std::string> lines_of(const std::vector<config::ConfigError>& findings) {
  std::vector<std::string> lines;
  for (const config::ConfigError& finding : findings) lines.push_back(to_string(finding));
  return lines;
}

/// The errors that a reader throws; none where it reads.
template <class Read>
std::vector<std::string> errors_of(Read&& read) {
  try {
    static_cast<void>(read());
  } catch (const config::ConfigErrors& errors) {
    return lines_of(errors.errors());
  }
  return {};
}

/// All that a reader throws as one text, or "not refused".
template <class Read>
std::string refusal_of(Read&& read) {
  try {
    static_cast<void>(read());
  } catch (const config::ConfigErrors& errors) {
    return errors.what();
  }
  return "not refused";
}

}  // namespace weft::fixture
