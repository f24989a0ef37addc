// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic that says so when a result does not fit, and the one place where weft rounds.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

__extension__ using Int128 = __int128;

namespace detail {
[[noreturn]] void throw_overflow(const char* operation);
[[noreturn]] void throw_division_by_zero();
}  // namespace detail

/// Returns `value` as 64 bits; throws std::overflow_error if it does not fit.
constexpr std::int64_t narrow(Int128 value) {
  if (value > std::numeric_limits<std::int64_t>::max() ||
      value < std::numeric_limits<std::int64_t>::min()) {
    detail::throw_overflow("conversion to 64 bits");
  }
  return static_cast<std::int64_t>(value);
}

/// Returns a + b; throws std::overflow_error if the sum does not fit.
constexpr std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) detail::throw_overflow("sum");
  return sum;
}

/// Returns a - b; throws std::overflow_error if the difference does not fit.
constexpr std::int64_t checked_subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) detail::throw_overflow("difference");
  return difference;
}

/// Returns a * b; throws std::overflow_error if the product does not fit.
constexpr std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) detail::throw_overflow("product");
  return product;
}

/// Returns the least integer that is not below numerator / denominator; the denominator is positive
/// (std::domain_error otherwise) and the quotient fits 64 bits (std::overflow_error otherwise).
constexpr std::int64_t divide_up(Int128 numerator, std::int64_t denominator) {
  if (denominator <= 0) detail::throw_division_by_zero();
  const Int128 quotient = numerator / denominator;
  return narrow(numerator % denominator > 0 ? quotient + 1 : quotient);
}

}  // namespace weft
