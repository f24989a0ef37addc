// SPDX-License-Identifier: Apache-2.0
// Completion scripts, made from the same description as the help.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace weft::tool {

/// The script of a shell: bash, zsh or fish.
[[nodiscard]] std::string completion_script(const std::string& shell, const CLI::App& app);

}  // namespace weft::tool
