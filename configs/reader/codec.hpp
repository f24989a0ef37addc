// SPDX-License-Identifier: Apache-2.0
// How each type of C++ stands in a document: read with a range, described, written back.
// Codec<T> exists for bool, integers, double, std::string, every unit type, enumerations that
// specialise EnumNames, std::vector<T>, std::map<std::string, T> and, in sourced.hpp, Sourced<T>.
// Objects are read by functions (strict_object.hpp).
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "configs/reader/range.hpp"
#include "configs/reader/schema.hpp"
#include "configs/reader/spot.hpp"
#include "configs/reader/value.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::config {

/// Specialise for an enumeration: `static constexpr std::pair<std::string_view, E> names[] =
/// {...};`.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::names[0];
};

template <class T>
concept Quantified = std::same_as<T, Duration> || std::same_as<T, Bytes> ||
    std::same_as<T, Bandwidth> || std::same_as<T, Flops> || std::same_as<T, FlopRate>;

template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool>;

/// The range of types that have no order worth restricting.
struct NoRange {};

namespace detail {

std::optional<std::int64_t> read_integer(const Spot& spot, const Range<std::int64_t>& range);
std::optional<std::size_t> read_choice(const Spot& spot, std::span<const std::string_view> names);
TypeDescription describe_integer(const Range<std::int64_t>& range);

template <class T>
Range<std::int64_t> within_type(const Range<T>& range) {
  Range<std::int64_t> wide = range;
  if (!wide.least) wide.least = static_cast<std::int64_t>(std::numeric_limits<T>::min());
  if (!wide.most) {
    wide.most = std::in_range<std::int64_t>(std::numeric_limits<T>::max())
                    ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                    : std::numeric_limits<std::int64_t>::max();
  }
  return wide;
}

template <NamedEnum E>
auto choice_names() {
  std::array<std::string_view, std::size(EnumNames<E>::names)> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = EnumNames<E>::names[i].first;
  return names;
}

}  // namespace detail

/// read() gives nothing after it has recorded the error.
template <class T>
struct Codec;

template <>
struct Codec<bool> {
  using RangeType = NoRange;
  static std::optional<bool> read(const Spot& spot, NoRange);
  static TypeDescription describe(NoRange) { return {.type = "boolean", .keys = {}}; }
  static Value write(bool value) { return value; }
};

/// A string; empty text is an error in a strict document.
template <>
struct Codec<std::string> {
  using RangeType = NoRange;
  static std::optional<std::string> read(const Spot& spot, NoRange);
  static TypeDescription describe(NoRange) { return {.type = "string", .keys = {}}; }
  static Value write(const std::string& value) { return value; }
};

template <>
struct Codec<double> {
  using RangeType = Range<double>;
  static std::optional<double> read(const Spot& spot, const Range<double>& range);
  static TypeDescription describe(const Range<double>& range);
  static Value write(double value) { return value; }
};

template <WholeNumber T>
struct Codec<T> {
  using RangeType = Range<T>;
  static std::optional<T> read(const Spot& spot, const Range<T>& range) {
    const auto wide = detail::read_integer(spot, detail::within_type(range));
    if (!wide) return std::nullopt;
    return static_cast<T>(*wide);
  }
  static TypeDescription describe(const Range<T>& range) { return detail::describe_integer(range); }
  static Value write(T value) { return value; }
};

namespace detail {

template <class T>
struct QuantityCodec {
  using RangeType = Range<T>;
  static std::optional<T> read(const Spot& spot, const Range<T>& range);
  static TypeDescription describe(const Range<T>& range);
  static Value write(T value);
};
extern template struct QuantityCodec<Duration>;
extern template struct QuantityCodec<Bytes>;
extern template struct QuantityCodec<Bandwidth>;
extern template struct QuantityCodec<Flops>;
extern template struct QuantityCodec<FlopRate>;

}  // namespace detail

/// Text with a unit; a bare number other than 0 is an error.
template <Quantified T>
struct Codec<T> : detail::QuantityCodec<T> {};

template <NamedEnum E>
struct Codec<E> {
  using RangeType = NoRange;
  static std::optional<E> read(const Spot& spot, NoRange) {
    const auto index = detail::read_choice(spot, detail::choice_names<E>());
    if (!index) return std::nullopt;
    return EnumNames<E>::names[*index].second;
  }
  static TypeDescription describe(NoRange) {
    const auto names = detail::choice_names<E>();
    return {.type = "choice",
            .choices = std::vector<std::string>(names.begin(), names.end()),
            .keys = {}};
  }
  static Value write(E value) {
    for (const auto& [name, known] : EnumNames<E>::names) {
      if (known == value) return name;
    }
    return nullptr;
  }
};

/// An array; the range is that of its items.
template <class T>
struct Codec<std::vector<T>> {
  using RangeType = typename Codec<T>::RangeType;
  static std::optional<std::vector<T>> read(const Spot& spot, const RangeType& range) {
    if (!spot.value().is_array()) {
      spot.expected("an array");
      return std::nullopt;
    }
    std::vector<T> items;
    bool good = true;
    for (std::size_t i = 0; i < spot.value().items().size(); ++i) {
      auto item = Codec<T>::read(spot.item(i), range);
      good = good && item.has_value();
      if (item) items.push_back(std::move(*item));
    }
    if (!good) return std::nullopt;
    return items;
  }
  static TypeDescription describe(const RangeType& range) {
    return {.type = "array", .element = {Codec<T>::describe(range)}, .keys = {}};
  }
  static Value write(const std::vector<T>& items) {
    Value value = Value::array();
    for (const auto& item : items) value.push(Codec<T>::write(item));
    return value;
  }
};

/// An object with free names; the range is that of its values.
template <class T>
struct Codec<std::map<std::string, T>> {
  using RangeType = typename Codec<T>::RangeType;
  static std::optional<std::map<std::string, T>> read(const Spot& spot, const RangeType& range) {
    if (!spot.value().is_object()) {
      spot.expected("an object");
      return std::nullopt;
    }
    std::map<std::string, T> entries;
    bool good = true;
    for (const Member& member : spot.value().members()) {
      auto value = Codec<T>::read(spot.member(member), range);
      good = good && value.has_value();
      if (value) entries.emplace(member.key, std::move(*value));
    }
    if (!good) return std::nullopt;
    return entries;
  }
  static TypeDescription describe(const RangeType& range) {
    return {.type = "map", .element = {Codec<T>::describe(range)}, .keys = {}};
  }
  static Value write(const std::map<std::string, T>& entries) {
    Value value = Value::object();
    for (const auto& [key, entry] : entries) value.set(key, Codec<T>::write(entry));
    return value;
  }
};

/// Returns the value as it stands in a document: quantities as text with a unit, enumerations by
/// name.
template <class T>
Value to_value(const T& value) requires requires {
  Codec<T>::write(value);
}
{ return Codec<T>::write(value); }

}  // namespace weft::config
