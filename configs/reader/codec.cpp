// SPDX-License-Identifier: Apache-2.0
#include "configs/reader/codec.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "configs/reader/json_writer.hpp"
#include "sim/units/nearest.hpp"
#include "sim/units/parse.hpp"
#include "sim/units/quote.hpp"

namespace weft::config {
namespace {

std::string shown(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string shown(double value) {
  return fmt::format("{}", value);
}
template <Quantified T>
std::string shown(T value) {
  return to_text(value);
}

template <class T>
std::string in_words(const Range<T>& range) {
  if (range.least && range.most && !range.above_least) {
    return fmt::format("{} to {}", shown(*range.least), shown(*range.most));
  }
  std::string words;
  if (range.least) {
    words = fmt::format("{} {}", range.above_least ? "more than" : "at least", shown(*range.least));
  }
  if (range.most) {
    words += fmt::format("{}at most {}", words.empty() ? "" : " and ", shown(*range.most));
  }
  return words;
}

template <class T>
bool check_range(const Spot& spot, const T& value, const Range<T>& range) {
  if (range.contains(value)) return true;
  const Value& written = spot.value();
  spot.error(
      fmt::format("{} is out of range", written.is_string() ? in_quotes(written.as_string())
                                                            : to_json(written, Layout::compact)),
      in_words(range));
  return false;
}

// The words of each dimension: "a bandwidth", "bandwidth", an example and its parser.
template <class T>
struct Words;
template <>
struct Words<Duration> {
  static constexpr std::string_view name = "duration", what = "a duration", example = "1.5 us";
  static constexpr auto parse = parse_duration;
};
template <>
struct Words<Bytes> {
  static constexpr std::string_view name = "size", what = "a size", example = "64 KiB";
  static constexpr auto parse = parse_bytes;
};
template <>
struct Words<Bandwidth> {
  static constexpr std::string_view name = "bandwidth", what = "a bandwidth", example = "450 GB/s";
  static constexpr auto parse = parse_bandwidth;
};
template <>
struct Words<Flops> {
  static constexpr std::string_view name = "amount of work", what = "an amount of work",
                                    example = "2 TFLOP";
  static constexpr auto parse = parse_flops;
};
template <>
struct Words<FlopRate> {
  static constexpr std::string_view name = "rate of work", what = "a rate of work",
                                    example = "989.4 TFLOP/s";
  static constexpr auto parse = parse_flop_rate;
};

}  // namespace

std::optional<bool> Codec<bool>::read(const Spot& spot, NoRange) {
  if (spot.value().is_boolean()) return spot.value().as_boolean();
  spot.expected("true or false");
  return std::nullopt;
}

std::optional<std::string> Codec<std::string>::read(const Spot& spot, NoRange) {
  if (!spot.value().is_string()) {
    spot.expected("a string");
    return std::nullopt;
  }
  if (spot.value().as_string().empty() && spot.reading().dialect == Dialect::strict) {
    spot.error("the string is empty");
    return std::nullopt;
  }
  return spot.value().as_string();
}

std::optional<double> Codec<double>::read(const Spot& spot, const Range<double>& range) {
  if (!spot.value().is_number()) {
    spot.expected("a number");
    return std::nullopt;
  }
  const double value = spot.value().as_real();
  if (!check_range(spot, value, range)) return std::nullopt;
  return value;
}

TypeDescription Codec<double>::describe(const Range<double>& range) {
  return {.type = "real", .range = in_words(range), .keys = {}};
}

namespace detail {

template <class T>
std::optional<T> QuantityCodec<T>::read(const Spot& spot, const Range<T>& range) {
  const Value& written = spot.value();
  const auto hint = [] { return fmt::format("write it as in \"{}\"", Words<T>::example); };
  std::optional<T> value;
  if (written.is_string()) {
    Parsed<T> parsed = Words<T>::parse(written.as_string());
    if (!parsed.value) spot.error(std::move(parsed.error), std::move(parsed.hint));
    value = parsed.value;
  } else if (written.is_number() && written.as_real() == 0.0) {
    value = T{};
  } else if (written.is_number()) {
    spot.error(fmt::format("{} has no unit", to_json(written, Layout::compact)), hint());
  } else {
    spot.expected(fmt::format("{} as text with a unit", Words<T>::what), hint());
  }
  if (!value || !check_range(spot, *value, range)) return std::nullopt;
  return value;
}

template <class T>
TypeDescription QuantityCodec<T>::describe(const Range<T>& range) {
  const auto names = unit_names<T>();
  return {.type = std::string(Words<T>::name),
          .units = std::vector<std::string>(names.begin(), names.end()),
          .range = in_words(range),
          .keys = {}};
}

template <class T>
Value QuantityCodec<T>::write(T value) {
  return to_text(value);
}

template struct QuantityCodec<Duration>;
template struct QuantityCodec<Bytes>;
template struct QuantityCodec<Bandwidth>;
template struct QuantityCodec<Flops>;
template struct QuantityCodec<FlopRate>;

std::optional<std::int64_t> read_integer(const Spot& spot, const Range<std::int64_t>& range) {
  const Value& written = spot.value();
  if (written.is_integer()) {
    if (!check_range(spot, written.as_integer(), range)) return std::nullopt;
    return written.as_integer();
  }
  const std::string text = to_json(written, Layout::compact);
  if (written.kind() == Value::Kind::real) {
    spot.error(fmt::format("expected an integer, not {}", text));
  } else {
    spot.expected("an integer");
  }
  return std::nullopt;
}

TypeDescription describe_integer(const Range<std::int64_t>& range) {
  return {.type = "integer", .range = in_words(range), .keys = {}};
}

std::optional<std::size_t> read_choice(const Spot& spot, std::span<const std::string_view> names) {
  const std::string list = fmt::format("one of {}", fmt::join(names, ", "));
  if (!spot.value().is_string()) {
    spot.expected("a name", list);
    return std::nullopt;
  }
  const std::string& name = spot.value().as_string();
  const auto it = std::ranges::find(names, name);
  if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
  const auto nearest = nearest_name(name, names);
  spot.error(fmt::format("unknown name {}", in_quotes(name)),
             nearest ? fmt::format("did you mean \"{}\"? {}", *nearest, list) : list);
  return std::nullopt;
}

}  // namespace detail
}  // namespace weft::config
