// SPDX-License-Identifier: Apache-2.0
// What a run really ran on: the scenario with its defaults written out and as the command line changed it, and the
// contents of the files that it names. Each has a fingerprint, so that two runs can be told apart, and what changed
// between them; where the files lie does not count.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/scenario.hpp"

namespace weft::model {

struct EffectiveConfig {
  config::Value scenario;  ///< as a scenario file would say it; of files the bare names
  /// scenario, machine (with its device), profile, model: those that there are, with their fingerprints.
  std::vector<std::pair<std::string, std::string>> parts;
  [[nodiscard]] std::string hash() const;  ///< of all parts together
  friend bool operator==(const EffectiveConfig&, const EffectiveConfig&) = default;
};

/// The knobs as a scenario or a lock has them: an object of counts and names.
[[nodiscard]] config::Value to_value(const Knobs& knobs);
/// The scenario as a value.
[[nodiscard]] config::Value to_value(const Scenario& scenario);

/// Reads the files once more; throws config::ConfigErrors where one cannot be read.
[[nodiscard]] EffectiveConfig effective_config(const Scenario& scenario,
                                               const config::SearchPath& search);

/// The parts whose fingerprints differ, by name; those that only one side has included.
[[nodiscard]] std::vector<std::string> changed_parts(
    const std::vector<std::pair<std::string, std::string>>& before,
    const std::vector<std::pair<std::string, std::string>>& now);

}  // namespace weft::model
