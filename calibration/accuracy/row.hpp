// SPDX-License-Identifier: Apache-2.0
// A row of the accuracy tables: which samples it speaks of and how they are predicted. One file a row (or a
// few of a kind); rows.cpp lists them. A row sees what it may know and what is asked, never the truth of a
// sample that it has to predict otherwise than to write it beside the prediction.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/accuracy/split.hpp"
#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// What a prediction may use: samples, and the profile that was fitted to these alone.
struct Knowledge {
  const model::Profile& profile;
  const std::vector<Observation>& samples;
  const topology::MachineSpec* machine =
      nullptr;  ///< that boundaries were measured on; none: unknown
};

/// One prediction beside its measurement.
struct Point {
  std::string label;
  Duration predicted, measured;
  int sample = 0;  ///< Observation::held
};

/// A row of `errors`: name, and what it must keep to, as fractions.
struct ErrorClaim {
  std::string name;
  std::optional<double> median, p95;
  bool baseline = false;  ///< of those that --against adds
};

class ErrorTableRow {
 public:
  virtual ~ErrorTableRow() = default;
  [[nodiscard]] virtual ErrorClaim claim() const = 0;
  /// Returns what is left out together while samples that may be fitted are predicted.
  [[nodiscard]] virtual Grouping grouping() const { return Grouping::by_weights; }
  /// Returns whether the row speaks of a sample.
  [[nodiscard]] virtual bool takes(const Observation& seen) const = 0;
  /// Predicts those that are asked, all of which it takes, and may leave some out.
  [[nodiscard]] virtual std::vector<Point> predict(const Knowledge& knowledge,
                                                   const std::vector<Observation>& asked) const = 0;
};

/// A decision beside exhaustive measurement: what the pick costs over the best, as a fraction.
struct Decision {
  std::string label;
  double regret = 0;
  double noise = 0;                   ///< a pick within this of the best counts as exact
  std::optional<bool> verdict_right;  ///< overlap or not, where the two differ by enough
};

/// A row of `decisions`.
struct DecisionClaim {
  std::string name;
  std::optional<double> within_1pct, regret_mean, regret_p95, regret_max;  ///< at least; at most
  bool baseline = false;
};

class DecisionTableRow {
 public:
  virtual ~DecisionTableRow() = default;
  [[nodiscard]] virtual DecisionClaim claim() const = 0;
  [[nodiscard]] virtual Grouping grouping() const { return Grouping::by_weights; }
  [[nodiscard]] virtual bool takes(const Observation& seen) const = 0;
  [[nodiscard]] virtual std::vector<Decision> decide(
      const Knowledge& knowledge, const std::vector<Observation>& asked) const = 0;
};

/// The rows of both tables, in the order in which they are printed.
[[nodiscard]] std::vector<std::unique_ptr<ErrorTableRow>> error_rows();
[[nodiscard]] std::vector<std::unique_ptr<DecisionTableRow>> decision_rows();

}  // namespace weft::calibration
