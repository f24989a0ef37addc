// SPDX-License-Identifier: Apache-2.0
// A run as text: one line a lane, at most 80 columns.
#pragma once

#include <string>

#include "sim/program.hpp"
#include "tools/views/lanes.hpp"

namespace weft::tool {

struct TimelineOptions {
  int columns = 80;
  bool colour = false;
  int ranks = 1;       ///< how many ranks are drawn, from the first on
  Duration axis{};     ///< what a line shows; zero: the whole run
  bool legend = true;  ///< with the lines that explain the cells
};

/// Draws the lanes. A cell shows the chunk that the lane works on for most of the cell ('0'..'9', 'a'..'z', '+'
/// beyond), '.' is idle; a link's cell shows its load in tenths ('1'..'9', '#' from 95 % on).
[[nodiscard]] std::string draw_timeline(const LaneSink& lanes, const TimelineOptions& options = {});

}  // namespace weft::tool
