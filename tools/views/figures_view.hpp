// SPDX-License-Identifier: Apache-2.0
// Figures as text and as JSON. JSON keys and units: docs/output.md; times are integer picoseconds in keys that end
// in _ps, sizes in keys that end in _bytes.
#pragma once

#include <string>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/spot.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/effective_config.hpp"
#include "models/planner/figures.hpp"
#include "models/planner/pipeline.hpp"

namespace weft::tool {

/// Appends the figures to a JSON object: compute_only_ps, communication_only_ps, serial_ps, overlapped_ps, ...
void add_figures(const model::Figures& figures, config::Value& object);
/// The object of one boundary: name, schedule, knobs and figures.
[[nodiscard]] config::Value to_value(const model::BoundaryFigures& boundary);
[[nodiscard]] config::Value to_value(const model::Attribution& attribution);
[[nodiscard]] config::Value to_value(const model::ErrorBand& band);
[[nodiscard]] config::Value to_value(const std::vector<config::SourcedUse>& assumed);

/// Appends what a run ran on: config_hash, config_parts (a fingerprint each) and the scenario as it was run.
void add_config(const model::EffectiveConfig& config, config::Value& object);

/// One line: between which times what is predicted to take `time` lies, and how that is known.
[[nodiscard]] std::string describe_band(const std::string& name, Duration time,
                                        const model::ErrorBand& band);

/// The figures as a small table of lines, with what each means.
[[nodiscard]] std::string describe(const model::Figures& figures,
                                   const std::optional<model::ErrorBand>& band);
/// One line each: effect, time, share of the whole.
[[nodiscard]] std::string describe(const model::Attribution& attribution);
/// The claim's findings, one a line, those that do not hold marked.
[[nodiscard]] std::string describe(const std::vector<model::ClaimFinding>& findings);
/// The numbers that nobody measured, one a line.
[[nodiscard]] std::string describe_assumed(const std::vector<config::SourcedUse>& assumed);

/// What was assumed or passed over in files of others, one a line.
[[nodiscard]] std::string describe_notes(const std::vector<config::ConfigError>& notes);
[[nodiscard]] config::Value to_value(const std::vector<config::ConfigError>& notes);

/// "16.7 %", or "-" where there is none.
[[nodiscard]] std::string percent(const std::optional<double>& fraction);

}  // namespace weft::tool
