// SPDX-License-Identifier: Apache-2.0
// What every unit type can do: add, subtract, compare, be scaled by an integer. A sum or product
// that does not fit throws std::overflow_error; a quotient is rounded up by divide_up.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "sim/units/integer.hpp"

namespace weft {

namespace detail {

template <class N>
concept Count = std::integral<N> && !std::same_as<N, bool>;

template <Count N>
constexpr std::int64_t count_of(N n) {
  if (!std::in_range<std::int64_t>(n)) throw_overflow("integer factor");
  return static_cast<std::int64_t>(n);
}

/// Scales a literal with a fraction to whole base units, to nearest; only ever evaluated by the
/// compiler.
consteval std::int64_t scaled(long double value, std::int64_t unit) {
  const long double product = value * static_cast<long double>(unit);
  if (product >= 9.2e18L) throw_overflow("literal");
  return static_cast<std::int64_t>(product + 0.5L);
}

consteval std::int64_t scaled(unsigned long long value, std::int64_t unit) {
  return checked_multiply(count_of(value), unit);
}

}  // namespace detail

/// The arithmetic of `Self`, a count of one base unit; `Self` befriends it and keeps its factories.
template <class Self>
class Quantity {
 public:
  constexpr auto operator<=>(const Quantity&) const = default;

  friend constexpr Self operator+(Self a, Self b) {
    return make(checked_add(a.amount_, b.amount_));
  }
  friend constexpr Self operator-(Self a, Self b) {
    return make(checked_subtract(a.amount_, b.amount_));
  }
  friend constexpr Self operator-(Self a) { return make(checked_subtract(0, a.amount_)); }
  template <detail::Count N>
  friend constexpr Self operator*(Self a, N n) {
    return make(checked_multiply(a.amount_, detail::count_of(n)));
  }
  template <detail::Count N>
  friend constexpr Self operator*(N n, Self a) {
    return a * n;
  }
  /// Divides by a positive count, rounded up.
  template <detail::Count N>
  friend constexpr Self operator/(Self a, N n) {
    return make(divide_up(a.amount_, detail::count_of(n)));
  }
  friend constexpr Self& operator+=(Self& a, Self b) { return a = a + b; }
  friend constexpr Self& operator-=(Self& a, Self b) { return a = a - b; }

  /// Returns a / b as a plain number, for reports.
  friend constexpr double ratio(Self a, Self b) {
    if (b.amount_ == 0) detail::throw_division_by_zero();
    return static_cast<double>(a.amount_) / static_cast<double>(b.amount_);
  }

  /// Returns the greatest quantity that fits.
  static constexpr Self max() { return make(std::numeric_limits<std::int64_t>::max()); }

 protected:
  constexpr Quantity() = default;
  static constexpr Self make(std::int64_t amount) {
    Self self;
    self.amount_ = amount;
    return self;
  }

  std::int64_t amount_ = 0;
};

}  // namespace weft
