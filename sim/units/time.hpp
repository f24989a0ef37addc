// SPDX-License-Identifier: Apache-2.0
// Time in integer picoseconds, +-106 days: a byte at 900 GB/s takes 1.1 ps, so nanoseconds are too
// coarse.
#pragma once

#include <compare>
#include <cstdint>

#include "sim/units/quantity.hpp"

namespace weft {

inline constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

/// A length of time in picoseconds; may be negative.
class Duration : public Quantity<Duration> {
 public:
  constexpr Duration() = default;
  /// Makes a duration of `ps` picoseconds.
  static constexpr Duration from_ps(std::int64_t ps) { return make(ps); }
  /// Returns the picoseconds.
  constexpr std::int64_t ps() const { return amount_; }
};

/// A moment, in picoseconds since the start of the run.
class TimePoint {
 public:
  constexpr TimePoint() = default;
  /// Makes the moment `ps` picoseconds after the start of the run.
  static constexpr TimePoint from_ps(std::int64_t ps) { return TimePoint(Duration::from_ps(ps)); }
  /// Returns the picoseconds since the start of the run.
  constexpr std::int64_t ps() const { return since_start_.ps(); }
  /// Returns the time since the start of the run.
  constexpr Duration since_start() const { return since_start_; }
  /// Returns the last moment that can be expressed.
  static constexpr TimePoint max() { return TimePoint(Duration::max()); }

  constexpr auto operator<=>(const TimePoint&) const = default;

  friend constexpr Duration operator-(TimePoint a, TimePoint b) {
    return a.since_start_ - b.since_start_;
  }
  friend constexpr TimePoint operator+(TimePoint t, Duration d) {
    return TimePoint(t.since_start_ + d);
  }
  friend constexpr TimePoint operator+(Duration d, TimePoint t) { return t + d; }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) {
    return TimePoint(t.since_start_ - d);
  }
  friend constexpr TimePoint& operator+=(TimePoint& t, Duration d) { return t = t + d; }
  friend constexpr TimePoint& operator-=(TimePoint& t, Duration d) { return t = t - d; }

 private:
  constexpr explicit TimePoint(Duration since_start) : since_start_(since_start) {}

  Duration since_start_;
};

namespace literals {

// clang-format off
consteval Duration operator""_ps(unsigned long long n) { return Duration::from_ps(detail::scaled(n, 1)); }
consteval Duration operator""_ns(unsigned long long n) { return Duration::from_ps(detail::scaled(n, 1'000)); }
consteval Duration operator""_us(unsigned long long n) { return Duration::from_ps(detail::scaled(n, 1'000'000)); }
consteval Duration operator""_ms(unsigned long long n) { return Duration::from_ps(detail::scaled(n, 1'000'000'000)); }
consteval Duration operator""_s(unsigned long long n) { return Duration::from_ps(detail::scaled(n, kPicosecondsPerSecond)); }
consteval Duration operator""_ns(long double n) { return Duration::from_ps(detail::scaled(n, 1'000)); }
consteval Duration operator""_us(long double n) { return Duration::from_ps(detail::scaled(n, 1'000'000)); }
consteval Duration operator""_ms(long double n) { return Duration::from_ps(detail::scaled(n, 1'000'000'000)); }
consteval Duration operator""_s(long double n) { return Duration::from_ps(detail::scaled(n, kPicosecondsPerSecond)); }
// clang-format on

}  // namespace literals
}  // namespace weft
