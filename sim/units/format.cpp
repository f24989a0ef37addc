// SPDX-License-Identifier: Apache-2.0
#include "sim/units/format.hpp"

#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "sim/units/integer.hpp"
#include "sim/units/unit_table.hpp"

namespace weft {
namespace {

using detail::UnitName;

// Rounds magnitude / unit to hundredths, half away from zero.
Int128 hundredths(std::uint64_t magnitude, std::int64_t unit) {
  return (Int128{magnitude} * 200 + unit) / (Int128{unit} * 2);
}

// The largest unit that the value fills; a value that would round up to a full next unit is shown
// in that.
std::string in_largest_unit(std::int64_t value, std::span<const UnitName> units) {
  const auto magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const UnitName* best = &units.front();
  for (const UnitName& unit : units) {
    if (hundredths(magnitude, best->numerator) >= Int128{unit.numerator} * 100 / best->numerator) {
      best = &unit;
    }
  }
  const auto shown = static_cast<std::int64_t>(hundredths(magnitude, best->numerator));
  std::string number = fmt::format("{}", shown / 100);
  if (shown % 100 != 0) {
    number += fmt::format(".{:02}", shown % 100);
    if (number.back() == '0') number.pop_back();
  }
  return fmt::format("{}{} {}", value < 0 ? "-" : "", number, best->name);
}

bool fills_exactly(std::int64_t value, std::span<const UnitName> units) {
  std::int64_t size = 1;
  for (const UnitName& unit : units) {
    if (value / unit.numerator != 0) size = unit.numerator;
  }
  return size > 1 && value % size == 0;
}

}  // namespace

std::string human(Duration value) {
  return in_largest_unit(value.ps(), detail::kTimeUnits);
}
std::string human(TimePoint value) {
  return human(value.since_start());
}
std::string human(Bytes value) {
  const bool decimal = fills_exactly(value.count(), detail::kDecimalByteUnits) &&
                       !fills_exactly(value.count(), detail::kBinaryByteUnits);
  if (decimal) return in_largest_unit(value.count(), detail::kDecimalByteUnits);
  return in_largest_unit(value.count(), detail::kBinaryByteUnits);
}
std::string human(Bandwidth value) {
  return in_largest_unit(value.bytes_per_second(), detail::kDecimalBandwidthUnits);
}
std::string human(Flops value) {
  return in_largest_unit(value.count(), detail::kFlopUnits);
}
std::string human(FlopRate value) {
  return in_largest_unit(value.flops_per_second(), detail::kFlopRateUnits);
}

namespace detail {

template <class T>
auto QuantityFormatter<T>::format(const T& value, fmt::format_context& context) const
    -> fmt::format_context::iterator {
  return fmt::formatter<fmt::string_view>::format(fmt::string_view(human(value)), context);
}

auto IndexFormatter::format_index(std::uint32_t index, fmt::format_context& context) const
    -> fmt::format_context::iterator {
  return fmt::formatter<fmt::string_view>::format(fmt::format("{}", index), context);
}

template struct QuantityFormatter<Duration>;
template struct QuantityFormatter<TimePoint>;
template struct QuantityFormatter<Bytes>;
template struct QuantityFormatter<Bandwidth>;
template struct QuantityFormatter<Flops>;
template struct QuantityFormatter<FlopRate>;

}  // namespace detail
}  // namespace weft
