// SPDX-License-Identifier: Apache-2.0
// What both encodings of a Chakra trace come to: attributes by name, and the trace made of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/foreign_text.hpp"
#include "models/import/chakra.hpp"

namespace weft::model {

/// A node as it is written, before its attributes are understood.
struct RawChakraNode {
  std::uint64_t id = 0;
  std::string name;
  std::int64_t type = 0;
  std::vector<std::uint64_t> needs;
  std::int64_t duration_micros = 0;
  std::map<std::string, std::int64_t> numbers;  ///< attributes; booleans as 0 and 1
  std::map<std::string, std::string> texts;
  std::vector<bool> dimensions;
};

constexpr std::size_t kMostChakraNodes = std::size_t{1} << 22;

/// Understands one node; what cannot be run becomes an error, metadata nothing.
void add_node(RawChakraNode raw, ChakraTrace& trace, config::Findings& findings);

/// Puts nodes after what they need, by id where they are free; cycles and missing nodes are errors.
void order_nodes(ChakraTrace& trace, config::Findings& findings);

/// Reads JSON in any of its spellings into the trace.
void read_chakra_json(std::string_view text, ChakraTrace& trace, config::Findings& findings);

}  // namespace weft::model
