// SPDX-License-Identifier: Apache-2.0
// Where a number comes from. Every figure of a profile carries one, and a run prints the assumed
// ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::model {

/// How a number is known, from the firmest to the weakest.
enum class SourceKind : std::uint8_t { measured, fitted, datasheet, published, assumed };

inline constexpr SourceKind every_source_kind[] = {SourceKind::measured, SourceKind::fitted,
                                                   SourceKind::datasheet, SourceKind::published,
                                                   SourceKind::assumed};

constexpr std::string_view name_of(SourceKind kind) {
  switch (kind) {
    case SourceKind::measured:
      return "measured";
    case SourceKind::fitted:
      return "fitted";
    case SourceKind::datasheet:
      return "datasheet";
    case SourceKind::published:
      return "published";
    case SourceKind::assumed:
      return "assumed";
  }
  return "unknown";
}

/// The kind of a name as name_of writes it; none if unknown.
constexpr std::optional<SourceKind> source_kind_of(std::string_view text) {
  for (const SourceKind kind : every_source_kind) {
    if (text == name_of(kind)) return kind;
  }
  return std::nullopt;
}

/// The weaker of two kinds: what a result built from both may claim.
constexpr SourceKind weaker(SourceKind a, SourceKind b) {
  return a < b ? b : a;
}

struct Source {
  SourceKind kind = SourceKind::assumed;
  std::string reference;
  friend bool operator==(const Source&, const Source&) = default;
};

/// A number with its source.
template <class T>
struct Sourced {
  T value{};
  Source source;
  friend bool operator==(const Sourced&, const Sourced&) = default;
};

}  // namespace weft::model
