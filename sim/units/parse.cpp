// SPDX-License-Identifier: Apache-2.0
#include "sim/units/parse.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "sim/units/integer.hpp"
#include "sim/units/nearest.hpp"
#include "sim/units/quote.hpp"
#include "sim/units/unit_table.hpp"

namespace weft {
namespace {

using detail::Dimension;
using detail::UnitName;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A decimal number: digits x 10^-decimals.
struct Decimal {
  bool negative = false;
  bool well_formed = false;
  std::string digits;  // without leading zeros
  std::int64_t decimals = 0;
};

// Reads [-+]digits[.digits][(e|E)[-+]digits] off the front of `text`.
Decimal take_decimal(std::string_view& text) {
  Decimal number;
  std::size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) number.negative = text[i++] == '-';
  const std::size_t first = i;
  while (i < text.size() && is_digit(text[i])) number.digits += text[i++];
  number.well_formed = i > first;
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    for (++i; i < text.size() && is_digit(text[i]); ++i, ++number.decimals)
      number.digits += text[i];
  }
  // "1e3 B" has an exponent; the E of "1 EFLOP" or "1EFLOP" does not.
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    const bool minus = j < text.size() && text[j] == '-';
    if (j < text.size() && (text[j] == '-' || text[j] == '+')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      std::int64_t exponent = 0;
      for (; j < text.size() && is_digit(text[j]); ++j) {
        exponent = std::min<std::int64_t>(exponent * 10 + (text[j] - '0'), 1'000'000);
      }
      number.decimals += minus ? exponent : -exponent;
      i = j;
    }
  }
  number.digits.erase(0, std::min(number.digits.find_first_not_of('0'), number.digits.size()));
  while (number.decimals > 0 && !number.digits.empty() && number.digits.back() == '0') {
    number.digits.pop_back();
    --number.decimals;
  }
  text.remove_prefix(i);
  return number;
}

enum class Exactness { exact, inexact, overflow };

// Returns digits x 10^-decimals x unit as a whole number of base units, if it is one.
Exactness scale(const Decimal& number, const UnitName& unit, std::int64_t& out) {
  out = 0;
  if (number.digits.empty()) return Exactness::exact;
  // 2^63 bytes a second are 20 digits in bits a second; 10^20 x 10^18 still fits 128 bits.
  constexpr std::int64_t kMostDigits = 20;
  const std::int64_t magnitude = static_cast<std::int64_t>(number.digits.size()) - number.decimals;
  if (magnitude > kMostDigits) return Exactness::overflow;
  if (number.digits.size() > std::size_t{kMostDigits}) {
    return number.decimals > 0 ? Exactness::inexact : Exactness::overflow;
  }
  Int128 value = 0;
  for (const char c : number.digits) value = value * 10 + (c - '0');
  value *= unit.numerator;
  Int128 divisor = unit.denominator;
  for (std::int64_t i = 0; i < number.decimals; ++i) {
    if (divisor > value) return Exactness::inexact;
    divisor *= 10;
  }
  constexpr std::int64_t kLimit = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t i = 0; i < -number.decimals; ++i) {
    if (value / divisor > kLimit) return Exactness::overflow;
    value *= 10;
  }
  if (value / divisor > kLimit) return Exactness::overflow;
  if (value % divisor != 0) return Exactness::inexact;
  out = static_cast<std::int64_t>(value / divisor);
  return Exactness::exact;
}

std::vector<std::string_view> names_of(std::span<const UnitName> units) {
  std::vector<std::string_view> names;
  for (const UnitName& unit : units) names.push_back(unit.name);
  return names;
}

const UnitName* find_unit(std::span<const UnitName> units, std::string_view name) {
  const auto it = std::ranges::find(units, name, &UnitName::name);
  return it == units.end() ? nullptr : &*it;
}

// Writes the micro sign and the Greek mu (U+00B5, U+03BC) as u.
std::string with_ascii_micro(std::string_view unit) {
  for (const std::string_view micro : {"\xC2\xB5", "\xCE\xBC"}) {
    if (unit.starts_with(micro)) return "u" + std::string(unit.substr(micro.size()));
  }
  return std::string(unit);
}

// Explains a unit that this dimension does not have.
template <class T>
Parsed<T> unknown_unit(std::string_view unit, const Dimension& dimension) {
  const std::string list = fmt::format("units of {}: {}", dimension.article_name,
                                       fmt::join(names_of(dimension.units), ", "));
  for (const Dimension* other : detail::kDimensions) {
    if (find_unit(other->units, unit) != nullptr) {
      return {std::nullopt,
              fmt::format("{} is a unit of {}, not of {}", in_quotes(unit), other->article_name,
                          dimension.article_name),
              list};
    }
  }
  const auto nearest = nearest_name(with_ascii_micro(unit), names_of(dimension.units));
  return {std::nullopt, fmt::format("unknown unit {}", in_quotes(unit)),
          nearest ? fmt::format("did you mean \"{}\"?", *nearest) : list};
}

template <class T, class Make>
Parsed<T> parse(std::string_view text, const Dimension& dimension, Make make) {
  const std::string example = fmt::format("write it as in \"{}\"", dimension.example);
  std::string_view rest = text;
  const Decimal number = take_decimal(rest);
  if (!number.well_formed) {
    return {std::nullopt, fmt::format("{} is not {}", in_quotes(text), dimension.article_name),
            example};
  }
  if (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  if (rest.empty()) {
    return {std::nullopt, fmt::format("{} has no unit", in_quotes(text)), example};
  }
  const UnitName* unit = find_unit(dimension.units, rest);
  if (unit == nullptr) return unknown_unit<T>(rest, dimension);
  if (number.negative) {
    return {std::nullopt, fmt::format("{} is negative", in_quotes(text)),
            fmt::format("{} is zero or more", dimension.article_name)};
  }
  std::int64_t value = 0;
  switch (scale(number, *unit, value)) {
    case Exactness::exact:
      return {make(value), {}, {}};
    case Exactness::inexact:
      return {std::nullopt, fmt::format("{} is not a whole number of base units", in_quotes(text)),
              fmt::format("the base unit is one {}", dimension.base)};
    case Exactness::overflow:
      break;
  }
  return {std::nullopt, fmt::format("{} is too large", in_quotes(text)),
          fmt::format("at most {}", to_text(make(std::numeric_limits<std::int64_t>::max())))};
}

// Writes value / unit as an exact decimal; the unit is a power of ten.
std::string decimal_text(std::int64_t value, const UnitName& unit) {
  const auto magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const auto size = static_cast<std::uint64_t>(unit.numerator);
  std::string out = fmt::format("{}{}", value < 0 ? "-" : "", magnitude / size);
  if (magnitude % size != 0) {
    std::string fraction = fmt::format("{:019}", magnitude % size);
    fraction.erase(0, 20 - fmt::formatted_size("{}", size));
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += "." + fraction;
  }
  return fmt::format("{} {}", out, unit.name);
}

// The largest unit that is not above the value.
std::string largest_unit_text(std::int64_t value, std::span<const UnitName> units) {
  const UnitName* best = &units.front();
  for (const UnitName& unit : units) {
    if (value / unit.numerator != 0) best = &unit;
  }
  return decimal_text(value, *best);
}

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  return parse<Duration>(text, detail::kTime, Duration::from_ps);
}
Parsed<Bytes> parse_bytes(std::string_view text) {
  return parse<Bytes>(text, detail::kSize, Bytes::from);
}
Parsed<Bandwidth> parse_bandwidth(std::string_view text) {
  return parse<Bandwidth>(text, detail::kBandwidth, Bandwidth::from_bytes_per_second);
}
Parsed<Flops> parse_flops(std::string_view text) {
  return parse<Flops>(text, detail::kWork, Flops::from);
}
Parsed<FlopRate> parse_flop_rate(std::string_view text) {
  return parse<FlopRate>(text, detail::kFlopRate, FlopRate::from_flops_per_second);
}

std::string to_text(Duration value) {
  return largest_unit_text(value.ps(), detail::kTimeUnits);
}

std::string to_text(Bytes value) {
  // The unit that leaves the smallest whole number: 65536 is 64 KiB, 80000000000 is 80 GB.
  const UnitName* best = &detail::kByteUnits[0];
  for (const UnitName& unit : detail::kByteUnits) {
    if (value.count() != 0 && value.count() % unit.numerator == 0 &&
        unit.numerator > best->numerator) {
      best = &unit;
    }
  }
  return fmt::format("{} {}", value.count() / best->numerator, best->name);
}

std::string to_text(Bandwidth value) {
  return largest_unit_text(value.bytes_per_second(), detail::kDecimalBandwidthUnits);
}
std::string to_text(Flops value) {
  return largest_unit_text(value.count(), detail::kFlopUnits);
}
std::string to_text(FlopRate value) {
  return largest_unit_text(value.flops_per_second(), detail::kFlopRateUnits);
}

template <>
std::vector<std::string_view> unit_names<Duration>() {
  return names_of(detail::kTimeUnits);
}
template <>
std::vector<std::string_view> unit_names<Bytes>() {
  return names_of(detail::kByteUnits);
}
template <>
std::vector<std::string_view> unit_names<Bandwidth>() {
  return names_of(detail::kBandwidthUnits);
}
template <>
std::vector<std::string_view> unit_names<Flops>() {
  return names_of(detail::kFlopUnits);
}
template <>
std::vector<std::string_view> unit_names<FlopRate>() {
  return names_of(detail::kFlopRateUnits);
}

}  // namespace weft
