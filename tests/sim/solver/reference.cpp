// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/solver/reference.hpp"

#include <boost/multiprecision/cpp_int.hpp>
#include <fmt/format.h>

namespace weft::sim::reference {

namespace {

using Rational = boost::multiprecision::cpp_rational;

double level_of(const Activity& activity, double rate) {
  return rate * static_cast<double>(activity.weight_per) / static_cast<double>(activity.weight);
}

}  // namespace

std::vector<double> fill(const Problem& problem) {
  const std::size_t n = problem.activities.size();
  std::vector<std::optional<Rational>> rates(n);
  const auto weight = [&](std::size_t i) {
    const Activity& a = problem.activities[i];
    return Rational(a.weight, a.weight_per);
  };
  const auto coefficient = [&](std::size_t i, std::size_t j) {
    const Activity& a = problem.activities[i];
    return Rational(a.amounts[j], a.denominator) * a.multiplicity;
  };
  for (;;) {
    // The least level at which something happens: a cap is reached or a resource is full.
    std::optional<Rational> level;
    for (std::size_t i = 0; i < n; ++i) {
      if (rates[i] || !problem.activities[i].cap) continue;
      const Rational at = *problem.activities[i].cap / weight(i);
      if (!level || at < *level) level = at;
    }
    std::vector<std::optional<Rational>> fills(problem.capacities.size());
    for (std::size_t j = 0; j < problem.capacities.size(); ++j) {
      Rational left = problem.capacities[j];
      Rational growth = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (rates[i]) {
          left -= coefficient(i, j) * *rates[i];
        } else {
          growth += coefficient(i, j) * weight(i);
        }
      }
      if (growth == 0) continue;
      fills[j] = left / growth;
      if (!level || *fills[j] < *level) level = fills[j];
    }
    if (!level) break;
    for (std::size_t i = 0; i < n; ++i) {
      if (rates[i]) continue;
      bool stops = problem.activities[i].cap && *problem.activities[i].cap / weight(i) == *level;
      for (std::size_t j = 0; j < problem.capacities.size(); ++j) {
        stops = stops || (problem.activities[i].amounts[j] != 0 && fills[j] == level);
      }
      if (stops) rates[i] = *level * weight(i);
    }
  }
  std::vector<double> result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = rates[i]->convert_to<double>();
  return result;
}

std::string broken_condition(const Problem& problem, const std::vector<double>& rates,
                             double tolerance) {
  std::vector<double> load(problem.capacities.size());
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Activity& a = problem.activities[i];
    for (std::size_t j = 0; j < load.size(); ++j) {
      load[j] += rates[i] * static_cast<double>(a.amounts[j]) *
                 static_cast<double>(a.multiplicity) / static_cast<double>(a.denominator);
    }
  }
  for (std::size_t j = 0; j < load.size(); ++j) {
    const auto capacity = static_cast<double>(problem.capacities[j]);
    if (load[j] > capacity * (1 + tolerance)) {
      return fmt::format("resource {} carries {} of {}", j, load[j], capacity);
    }
  }
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Activity& a = problem.activities[i];
    if (a.cap && rates[i] >= static_cast<double>(*a.cap) * (1 - tolerance)) continue;
    bool held = false;
    for (std::size_t j = 0; j < load.size() && !held; ++j) {
      if (a.amounts[j] == 0) continue;
      if (load[j] < static_cast<double>(problem.capacities[j]) * (1 - tolerance)) continue;
      held = true;
      for (std::size_t k = 0; k < rates.size(); ++k) {
        if (problem.activities[k].amounts[j] == 0) continue;
        held = held &&
               level_of(problem.activities[k], rates[k]) <= level_of(a, rates[i]) * (1 + tolerance);
      }
    }
    if (!held) {
      return fmt::format("activity {} at {} is below its cap and leads on no full resource", i,
                         rates[i]);
    }
  }
  return {};
}

}  // namespace weft::sim::reference
