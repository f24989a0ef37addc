// SPDX-License-Identifier: Apache-2.0
// The result of `weft check` as JUnit XML, which CI systems show.
#pragma once

#include <string>

#include "models/planner/lock.hpp"

namespace weft::tool {

/// One test case for each locked pick, and one for the layout.
[[nodiscard]] std::string junit_report(const std::string& suite, const model::CheckResult& result);

}  // namespace weft::tool
