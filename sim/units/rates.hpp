// SPDX-License-Identifier: Apache-2.0
// Bandwidth, floating-point work and its rate, and the time that an amount takes at a rate.
// amount / rate is rounded up to a picosecond through a 128-bit product: bytes x 10^12 leaves 64
// bits above 9.2 MB.
#pragma once

#include <cstdint>

#include "sim/units/bytes.hpp"
#include "sim/units/quantity.hpp"
#include "sim/units/time.hpp"

namespace weft {

/// Bytes a second.
class Bandwidth : public Quantity<Bandwidth> {
 public:
  constexpr Bandwidth() = default;
  /// Makes a bandwidth of `rate` bytes a second.
  static constexpr Bandwidth from_bytes_per_second(std::int64_t rate) { return make(rate); }
  /// Returns the bytes a second.
  constexpr std::int64_t bytes_per_second() const { return amount_; }
};

/// A number of floating-point operations.
class Flops : public Quantity<Flops> {
 public:
  constexpr Flops() = default;
  /// Makes an amount of `count` operations.
  static constexpr Flops from(std::int64_t count) { return make(count); }
  /// Returns the number of operations.
  constexpr std::int64_t count() const { return amount_; }
};

/// Floating-point operations a second.
class FlopRate : public Quantity<FlopRate> {
 public:
  constexpr FlopRate() = default;
  /// Makes a rate of `rate` operations a second.
  static constexpr FlopRate from_flops_per_second(std::int64_t rate) { return make(rate); }
  /// Returns the operations a second.
  constexpr std::int64_t flops_per_second() const { return amount_; }
};

/// Returns the time that `bytes` take at `rate`, rounded up; throws std::domain_error at a zero
/// rate.
constexpr Duration operator/(Bytes bytes, Bandwidth rate) {
  return Duration::from_ps(
      divide_up(Int128{bytes.count()} * kPicosecondsPerSecond, rate.bytes_per_second()));
}

/// Returns the time that `flops` take at `rate`, rounded up; throws std::domain_error at a zero
/// rate.
constexpr Duration operator/(Flops flops, FlopRate rate) {
  return Duration::from_ps(
      divide_up(Int128{flops.count()} * kPicosecondsPerSecond, rate.flops_per_second()));
}

/// Returns the mean bandwidth of `bytes` in `time`, rounded up to a byte a second.
constexpr Bandwidth operator/(Bytes bytes, Duration time) {
  return Bandwidth::from_bytes_per_second(
      divide_up(Int128{bytes.count()} * kPicosecondsPerSecond, time.ps()));
}

/// Returns the mean rate of `flops` in `time`, rounded up to an operation a second.
constexpr FlopRate operator/(Flops flops, Duration time) {
  return FlopRate::from_flops_per_second(
      divide_up(Int128{flops.count()} * kPicosecondsPerSecond, time.ps()));
}

namespace literals {

// clang-format off
consteval Bandwidth operator""_GBps(unsigned long long n) { return Bandwidth::from_bytes_per_second(detail::scaled(n, 1'000'000'000)); }
consteval Bandwidth operator""_GBps(long double n) { return Bandwidth::from_bytes_per_second(detail::scaled(n, 1'000'000'000)); }
consteval Bandwidth operator""_TBps(unsigned long long n) { return Bandwidth::from_bytes_per_second(detail::scaled(n, 1'000'000'000'000)); }
consteval Bandwidth operator""_TBps(long double n) { return Bandwidth::from_bytes_per_second(detail::scaled(n, 1'000'000'000'000)); }
/// Gigabits a second: 10^9 / 8 bytes a second.
consteval Bandwidth operator""_Gbps(unsigned long long n) { return Bandwidth::from_bytes_per_second(detail::scaled(n, 125'000'000)); }
consteval Flops operator""_FLOPs(unsigned long long n) { return Flops::from(detail::scaled(n, 1)); }
consteval Flops operator""_GFLOPs(unsigned long long n) { return Flops::from(detail::scaled(n, 1'000'000'000)); }
consteval Flops operator""_TFLOPs(unsigned long long n) { return Flops::from(detail::scaled(n, 1'000'000'000'000)); }
consteval Flops operator""_TFLOPs(long double n) { return Flops::from(detail::scaled(n, 1'000'000'000'000)); }
consteval FlopRate operator""_GFLOPps(unsigned long long n) { return FlopRate::from_flops_per_second(detail::scaled(n, 1'000'000'000)); }
consteval FlopRate operator""_TFLOPps(unsigned long long n) { return FlopRate::from_flops_per_second(detail::scaled(n, 1'000'000'000'000)); }
consteval FlopRate operator""_TFLOPps(long double n) { return FlopRate::from_flops_per_second(detail::scaled(n, 1'000'000'000'000)); }
// clang-format on

}  // namespace literals
}  // namespace weft
