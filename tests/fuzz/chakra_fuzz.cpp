// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Chakra trace: nodes that each come after what they need, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/import/chakra.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(model::looks_like_chakra(bytes));
  try {
    const model::ChakraTrace trace = model::read_chakra(bytes, "trace.et");
    std::set<std::uint64_t> done;
    for (const model::ChakraNode& node : trace.nodes) {
      for (const std::uint64_t need : node.needs) {
        if (!done.contains(need)) __builtin_trap();
      }
      if (!done.insert(node.id).second) __builtin_trap();
    }
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
