// SPDX-License-Identifier: Apache-2.0
// Schedules of one boundary side by side: each with the knobs that suit it best there, or the rule that refuses it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "models/planner/evaluate.hpp"
#include "models/planner/scenario.hpp"
#include "models/planner/search.hpp"

namespace weft::model {

/// One schedule of a comparison.
struct Compared {
  std::string schedule;
  std::optional<ScheduleChoice> choice;  ///< none: refused
  Figures figures;                       ///< of the choice
  ErrorBand band;                        ///< of its D
  std::string refusal;                   ///< the rule, where it is refused
};

struct Comparison {
  std::shared_ptr<const Site> site;
  std::string machine_name;
  Boundary boundary;
  Figures yardsticks;  ///< A, B and C: the same for all; C is what a refused schedule falls back to
  std::vector<Compared> schedules;
};

/// Compares these schedules on a boundary scenario; knobs that it pins stay where a schedule has them. Throws
/// config::ConfigErrors for any other scenario or an unknown name.
[[nodiscard]] Comparison compare(const Scenario& scenario,
                                 const std::vector<std::string>& schedules,
                                 const config::SearchPath& search_path,
                                 const SearchOptions& options = {});

}  // namespace weft::model
