// SPDX-License-Identifier: Apache-2.0
// A number and where it comes from: {"value": "450 GB/s", "source": {"kind": "datasheet",
// "reference": "..."}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "configs/reader/codec.hpp"
#include "configs/reader/strict_object.hpp"

namespace weft::config {

/// How a number was obtained; `assumed` ones are listed by every run that uses them.
enum class SourceKind { datasheet, measured, fitted, published, assumed };

template <>
struct EnumNames<SourceKind> {
  static constexpr std::pair<std::string_view, SourceKind> names[] = {
      {"datasheet", SourceKind::datasheet},
      {"measured", SourceKind::measured},
      {"fitted", SourceKind::fitted},
      {"published", SourceKind::published},
      {"assumed", SourceKind::assumed}};
};

/// Where a number comes from.
struct Source {
  SourceKind kind = SourceKind::assumed;
  /// The document with its table or section, the sample set's hash, or the reason of an assumption.
  std::string reference;
  friend bool operator==(const Source&, const Source&) = default;
};

/// A value with its source.
template <class T>
struct Sourced {
  T value{};
  Source source;
  friend bool operator==(const Sourced&, const Sourced&) = default;
};

namespace detail {

Source read_source(StrictObject& object);
Value write_source(const Source& source);
// Records the use of a parameter in the reading.
void record_source(const Spot& spot, const Value& value, const Source& source);
// Reports a parameter that is written as a bare value.
void report_bare(const Spot& spot);

}  // namespace detail

template <class T>
struct Codec<Sourced<T>> {
  using RangeType = typename Codec<T>::RangeType;
  static std::optional<Sourced<T>> read(const Spot& spot, const RangeType& range) {
    if (!spot.value().is_object()) {
      detail::report_bare(spot);
      return std::nullopt;
    }
    const std::size_t errors_before = spot.reading().errors.size();
    auto sourced = read_object(spot, [&](StrictObject& object) { return fields(object, range); });
    if (spot.reading().errors.size() == errors_before) {
      detail::record_source(spot, Codec<T>::write(sourced->value), sourced->source);
    }
    return sourced;
  }
  static TypeDescription describe(const RangeType& range) {
    return {.type = "sourced", .element = {Codec<T>::describe(range)}, .keys = {}};
  }
  static Value write(const Sourced<T>& sourced) {
    return Value::object({{"value", Codec<T>::write(sourced.value)},
                          {"source", detail::write_source(sourced.source)}});
  }

 private:
  static Sourced<T> fields(StrictObject& object, const RangeType& range) {
    Sourced<T> sourced;
    sourced.value = object.required<T>({"value", "the value"}, range);
    sourced.source =
        object.required_object({"source", "where the value comes from"}, detail::read_source);
    return sourced;
  }
};

}  // namespace weft::config
