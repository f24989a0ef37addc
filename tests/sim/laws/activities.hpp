// SPDX-License-Identifier: Apache-2.0
// What moved and at which rates, put together from the records: one entry a shared activity, with
// what the program says that it asks for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/laws/laws.hpp"

namespace weft::sim::laws {

enum class ResourceKind : std::uint8_t { memory, l2, link, fabric_switch, pipe };
using ResourceKey = std::pair<ResourceKind, std::uint32_t>;

/// Of sums in double precision.
inline constexpr double kTolerance = 1e-9;

/// Thousandths of an SM's pipe times picoseconds, a second.
inline constexpr double kPipeUnits = 1e15;

/// What one unit of progress of one copy asks for.
struct Asks {
  std::map<ResourceKey, double> uses;  ///< units of the resource
  std::optional<double> cap;           ///< units of progress a second
  double weight = 1;                   ///< progress at level 1
  double copies = 1;
};

struct RateStep {
  TimePoint from;
  TimePoint to;
  double units_per_second = 0;
  std::optional<StallReason> limited_by;
};

struct SharedActivity {
  CommandRef command;
  std::vector<RateStep> steps;
  std::optional<std::uint32_t> range;  ///< set where CTAs do tiles of it, not a flow
  int ctas = 0;
  std::optional<std::uint32_t> gang;
  std::vector<PipeShare> pipes;  ///< of contended SMs
  Asks asks;

  [[nodiscard]] TimePoint start() const { return steps.front().from; }
  [[nodiscard]] TimePoint end() const { return steps.back().to; }
  /// Units of progress made, and how far rounding to picoseconds may move them.
  [[nodiscard]] double progress() const;
  [[nodiscard]] double tolerance() const;
};

/// Whether every shared resource is shared and bytes take time.
bool all_shared(const Effects& effects);

/// Capacity of a resource in this run; none: not modelled.
std::optional<double> capacity_of(const RecordedRun& run, const ResourceKey& key);

/// CTAs that wait on contended SMs and take their issue share meanwhile.
struct Spin {
  PipeShare share;
  TimePoint to;
};
std::vector<Spin> spins_of(const RecordedRun& run);

/// How many SMs a shared pipe stands for, by moment: its number is reused.
using PipeSizes = std::map<std::uint32_t, std::map<TimePoint, int>>;
PipeSizes pipe_sizes(const RecordedRun& run);

/// All shared activities; breaches name rate records that make no sense.
std::vector<SharedActivity> shared_activities(const RecordedRun& run, Breaches& breaches);

}  // namespace weft::sim::laws
