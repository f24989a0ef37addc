// SPDX-License-Identifier: Apache-2.0
// Quantities for people: "12.34 us", "512 KiB", "450 GB/s", at most two decimals. Width and
// alignment work as for text ("{:>10}"); text that reads back exactly is to_text's business
// (parse.hpp).
#pragma once

#include <cstdint>
#include <string>

#include <fmt/core.h>

#include "sim/units/bytes.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft {

/// Returns the quantity in the largest unit that it fills, rounded to two decimals.
std::string human(Duration value);
/// Returns the time since the start of the run, as a duration.
std::string human(TimePoint value);
/// Returns the size in binary units, or in decimal ones if only those are exact.
std::string human(Bytes value);
/// Returns the bandwidth in decimal bytes a second.
std::string human(Bandwidth value);
/// Returns the work in FLOP.
std::string human(Flops value);
/// Returns the rate in FLOP/s.
std::string human(FlopRate value);

namespace detail {

// Formats human(value) with the width and alignment of a string.
template <class T>
struct QuantityFormatter : fmt::formatter<fmt::string_view> {
  auto format(const T& value, fmt::format_context& context) const -> fmt::format_context::iterator;
};

// Formats the index of an Id likewise.
struct IndexFormatter : fmt::formatter<fmt::string_view> {
  auto format_index(std::uint32_t index, fmt::format_context& context) const
      -> fmt::format_context::iterator;
};

extern template struct QuantityFormatter<Duration>;
extern template struct QuantityFormatter<TimePoint>;
extern template struct QuantityFormatter<Bytes>;
extern template struct QuantityFormatter<Bandwidth>;
extern template struct QuantityFormatter<Flops>;
extern template struct QuantityFormatter<FlopRate>;

}  // namespace detail
}  // namespace weft

template <>
struct fmt::formatter<weft::Duration> : weft::detail::QuantityFormatter<weft::Duration> {};
template <>
struct fmt::formatter<weft::TimePoint> : weft::detail::QuantityFormatter<weft::TimePoint> {};
template <>
struct fmt::formatter<weft::Bytes> : weft::detail::QuantityFormatter<weft::Bytes> {};
template <>
struct fmt::formatter<weft::Bandwidth> : weft::detail::QuantityFormatter<weft::Bandwidth> {};
template <>
struct fmt::formatter<weft::Flops> : weft::detail::QuantityFormatter<weft::Flops> {};
template <>
struct fmt::formatter<weft::FlopRate> : weft::detail::QuantityFormatter<weft::FlopRate> {};

template <class Tag>
struct fmt::formatter<weft::Id<Tag>> : weft::detail::IndexFormatter {
  auto format(weft::Id<Tag> id, fmt::format_context& context) const {
    return format_index(id.value(), context);
  }
};
