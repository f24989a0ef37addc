// SPDX-License-Identifier: Apache-2.0
// A run as a Chrome trace (JSON object format), which Perfetto and chrome://tracing open: one process a rank,
// a thread for each lane, flow arrows for signals, counters for link loads.
#pragma once

#include <iosfwd>
#include <string>

#include "tools/views/lanes.hpp"

namespace weft::tool {

/// Writes the trace. Times are microseconds with six decimals: exact picoseconds.
void write_trace(const LaneSink& lanes, const std::string& name, std::ostream& out);

}  // namespace weft::tool
