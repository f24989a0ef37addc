// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes: GB = 10^9, GiB = 2^30; a bit is not a byte.
#pragma once

#include <cstdint>

#include "sim/units/quantity.hpp"

namespace weft {

/// A number of bytes.
class Bytes : public Quantity<Bytes> {
 public:
  constexpr Bytes() = default;
  /// Makes a size of `count` bytes.
  static constexpr Bytes from(std::int64_t count) { return make(count); }
  /// Returns the number of bytes.
  constexpr std::int64_t count() const { return amount_; }
};

namespace literals {

// clang-format off
consteval Bytes operator""_B(unsigned long long n) { return Bytes::from(detail::scaled(n, 1)); }
consteval Bytes operator""_KiB(unsigned long long n) { return Bytes::from(detail::scaled(n, std::int64_t{1} << 10)); }
consteval Bytes operator""_MiB(unsigned long long n) { return Bytes::from(detail::scaled(n, std::int64_t{1} << 20)); }
consteval Bytes operator""_GiB(unsigned long long n) { return Bytes::from(detail::scaled(n, std::int64_t{1} << 30)); }
consteval Bytes operator""_TiB(unsigned long long n) { return Bytes::from(detail::scaled(n, std::int64_t{1} << 40)); }
consteval Bytes operator""_KB(unsigned long long n) { return Bytes::from(detail::scaled(n, 1'000)); }
consteval Bytes operator""_MB(unsigned long long n) { return Bytes::from(detail::scaled(n, 1'000'000)); }
consteval Bytes operator""_GB(unsigned long long n) { return Bytes::from(detail::scaled(n, 1'000'000'000)); }
consteval Bytes operator""_TB(unsigned long long n) { return Bytes::from(detail::scaled(n, 1'000'000'000'000)); }
// clang-format on

}  // namespace literals
}  // namespace weft
