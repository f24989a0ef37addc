// SPDX-License-Identifier: Apache-2.0
// Reads scenario files (weft.scenario/1, docs/scenarios.md).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/document.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/search_path.hpp"
#include "models/planner/scenario.hpp"

namespace weft::model {

/// Reads a scenario; throws config::ConfigErrors with everything that is wrong: keys, ranges, files that are not
/// there, schedules and knobs that do not exist. What only the machine or model can refuse is refused when it runs.
[[nodiscard]] Scenario read_scenario(const std::filesystem::path& file,
                                     const config::SearchPath& search = {});
/// The same of a document; files that it names are looked up beside its name.
[[nodiscard]] Scenario read_scenario(const config::Document& document,
                                     const config::SearchPath& search = {});

/// What the format accepts.
[[nodiscard]] config::TypeDescription describe_scenario();

/// Parses "search", "tp=8", "tp=8 sp", "tp=16 sp scattered"; `faults` gets what is wrong.
[[nodiscard]] LayoutChoice parse_layout(std::string_view text, std::vector<std::string>& faults);

/// Parses one knob value as it is typed: a count if it looks like one, else a name.
[[nodiscard]] KnobValue parse_knob(std::string_view text);

}  // namespace weft::model
