// SPDX-License-Identifier: Apache-2.0
// What was built, from what, and how.
#pragma once

#include <string>

namespace weft::tool {

struct BuildInfo {
  std::string version;
  std::string commit;  ///< "unknown" outside a checkout
  bool dirty = false;
  std::string compiler;
  std::string build_type;
};
[[nodiscard]] BuildInfo build_info();

}  // namespace weft::tool
