// SPDX-License-Identifier: Apache-2.0
// The weighted max-min rates by brute force, and the conditions that define them: shares nothing
// with the solver but the statement of the problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::sim::reference {

struct Activity {
  std::vector<std::uint64_t> amounts;  ///< one for each resource
  std::uint64_t denominator = 1;
  std::uint64_t weight = 1;
  std::uint64_t weight_per = 1;
  std::optional<std::uint64_t> cap;  ///< units a second
  std::uint64_t multiplicity = 1;
};

struct Problem {
  std::vector<std::uint64_t> capacities;
  std::vector<Activity> activities;
};

/// Fills in exact rationals, all resources at every step; returns units a second.
std::vector<double> fill(const Problem& problem);

/// Returns the first broken condition of weighted max-min fairness, within `tolerance` of each
/// capacity and level: empty if the rates are a solution.
std::string broken_condition(const Problem& problem, const std::vector<double>& rates,
                             double tolerance);

}  // namespace weft::sim::reference
