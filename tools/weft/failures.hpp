// SPDX-License-Identifier: Apache-2.0
// What each failure of a subcommand says and ends with.
#pragma once

#include <functional>
#include <iosfwd>

#include "tools/weft/commands.hpp"

namespace weft::tool {

/// The command's own exit code, or that of what it threw, once that is told on `err`.
ExitCode guarded(const std::function<ExitCode()>& command, std::ostream& err);

}  // namespace weft::tool
