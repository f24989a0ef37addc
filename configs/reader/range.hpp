// SPDX-License-Identifier: Apache-2.0
// What values a key may take: at_least(1), above(0.0), between(1, 8), of numbers or of quantities.
#pragma once

#include <concepts>
#include <optional>

namespace weft::config {

/// The closed interval [least, most], or open at its lower end; an absent end is unbounded.
template <class T>
struct Range {
  std::optional<T> least;
  std::optional<T> most;
  bool above_least = false;

  Range() = default;
  Range(std::optional<T> least_value, std::optional<T> most_value, bool open = false)
      : least(least_value), most(most_value), above_least(open) {}
  /// A range of int is a range of any wider number.
  template <class U>
  requires(!std::same_as<U, T> && std::convertible_to<U, T>) Range(const Range<U>& other)
      : above_least(other.above_least) {
    if (other.least) least = static_cast<T>(*other.least);
    if (other.most) most = static_cast<T>(*other.most);
  }

  /// Returns whether the value is inside.
  bool contains(const T& value) const {
    if (least && (above_least ? value <= *least : value < *least)) return false;
    return !most || value <= *most;
  }
};

/// Values from `least` upwards.
template <class T>
Range<T> at_least(T least) {
  return {least, std::nullopt};
}
/// Values greater than `bound`.
template <class T>
Range<T> above(T bound) {
  return {bound, std::nullopt, true};
}
/// Values from `least` to `most`, both included.
template <class T>
Range<T> between(T least, T most) {
  return {least, most};
}

}  // namespace weft::config
