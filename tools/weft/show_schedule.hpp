// SPDX-License-Identifier: Apache-2.0
// A schedule at work on a small boundary, for its explanation.
#pragma once

#include <string>

#include "models/schedules/schedule.hpp"
#include "tools/weft/commands.hpp"

namespace weft::tool {

/// A timeline of the schedule with default knobs on the first machine and example that it takes, with its buffers and
/// what the unfused way takes there; a sentence where it takes none.
[[nodiscard]] std::string show_schedule(const model::Schedule& schedule, Context& context);

}  // namespace weft::tool
