// SPDX-License-Identifier: Apache-2.0
// Clocks, power, temperature and throttle reasons while something is measured, read by a thread of its
// own through NVML (loaded when present).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::kernels {

/// One reading; `at_ns` is on the steady clock.
struct Reading {
  std::int64_t at_ns = 0;
  int sm_mhz = 0;
  int memory_mhz = 0;
  int power_w = 0;
  int temperature_c = 0;
  std::uint64_t throttle = 0;  ///< NVML's clocks event reasons
};

/// Names of the throttle reasons in a mask, in alphabetical order; idle and set clocks are none.
std::vector<std::string> throttle_names(std::uint64_t mask);

/// True where a mask has a reason that makes a time unfit for a fit: heat, power brake, hardware.
bool spoils_a_time(std::uint64_t mask);

/// Nanoseconds of the steady clock.
std::int64_t steady_ns();

/// Reads the conditions of one device every few milliseconds until it is destroyed.
class ConditionWatch {
 public:
  explicit ConditionWatch(int device);
  ~ConditionWatch();
  ConditionWatch(const ConditionWatch&) = delete;
  ConditionWatch& operator=(const ConditionWatch&) = delete;

  /// Readings between two moments, or the last one before if there is none between.
  std::vector<Reading> between(std::int64_t from_ns, std::int64_t to_ns) const;
  /// The driver's version, empty where NVML is not here.
  std::string driver_version() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::kernels
