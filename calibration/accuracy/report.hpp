// SPDX-License-Identifier: Apache-2.0
// How far predictions and picks are from measurements: the tables of `weft accuracy`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/accuracy/row.hpp"
#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// Which samples a report is about: those that may be fitted, each predicted without its group, or the held out
/// ones, predicted by the profile as it is.
enum class Split : std::uint8_t { loo, final };

struct ErrorRow {
  ErrorClaim claim;
  std::int64_t n = 0;
  double median = 0, p95 = 0, worst = 0, bias = 0;  ///< fractions of the measured time
  double low = 0, high = 0;                         ///< measured over predicted: the 90 % interval
  double coverage = 0;  ///< share of rows within the 90 % interval of residuals that are not theirs
  std::vector<Point> points;
};

struct DecisionRow {
  DecisionClaim claim;
  std::int64_t n = 0;
  double exact = 0, within_1pct = 0;  ///< shares of the cases
  double regret_mean = 0, regret_p95 = 0, regret_max = 0;
  double verdict_right = 0;  ///< share of the verdicts that matter; 1 where none does
  std::int64_t verdicts = 0;
  double noise = 0;  ///< mean noise floor of the measurements
  std::vector<Decision> decisions;
};

struct Report {
  Split split = Split::loo;
  std::string profile;
  std::string evidence;  ///< hash
  std::vector<ErrorRow> errors;
  std::vector<DecisionRow> decisions;
};

/// Fits a profile to samples that may be fitted, beginning with a given one.
using Fit = std::function<model::Profile(const model::Profile&, const std::vector<Observation>&)>;

struct ReportOptions {
  Split split = Split::loo;
  bool against = false;             ///< baselines too
  std::vector<std::string> only{};  ///< rows whose name contains one of these; empty: all
  std::optional<topology::MachineSpec> machine{};  ///< for boundaries, on its first device
};

/// Makes the report of one GPU. `fit` makes the profile of each fold; the held-out samples are looked at only
/// by Split::final.
[[nodiscard]] Report make_report(const model::Profile& profile, const Evidence& evidence,
                                 const Fit& fit, const ReportOptions& options);

/// Sum rows up. Medians take the upper of two middles, percentiles the nearest rank.
[[nodiscard]] ErrorRow summarise_points(ErrorClaim claim, std::vector<Point> points);
[[nodiscard]] DecisionRow summarise_decisions(DecisionClaim claim, std::vector<Decision> decisions);

}  // namespace weft::calibration
