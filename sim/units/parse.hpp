// SPDX-License-Identifier: Apache-2.0
// Quantities as text, as configuration files write them: "450 GB/s", "1.5 us", "400 Gb/s", "64
// KiB". The number is decimal and is converted exactly; what is not a whole number of base units,
// has no unit, is negative or does not fit 64 bits is an error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/units/bytes.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft {

/// A value, or what is wrong with the text and a hint (which may be empty).
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string error;
  std::string hint;
};

/// Reads a time in ps, ns, us, ms or s.
Parsed<Duration> parse_duration(std::string_view text);
/// Reads a size in B, KB to PB (powers of 1000) or KiB to PiB (powers of 1024).
Parsed<Bytes> parse_bytes(std::string_view text);
/// Reads a bandwidth in B/s, KB/s to PB/s, KiB/s to TiB/s, or bits: b/s, Kb/s to Tb/s.
Parsed<Bandwidth> parse_bandwidth(std::string_view text);
/// Reads an amount of work in FLOP, KFLOP to EFLOP.
Parsed<Flops> parse_flops(std::string_view text);
/// Reads a rate in FLOP/s, KFLOP/s to EFLOP/s.
Parsed<FlopRate> parse_flop_rate(std::string_view text);

/// Returns the shortest text that the parser of the type reads back as the same value, unless it is
/// negative.
std::string to_text(Duration value);
std::string to_text(Bytes value);
std::string to_text(Bandwidth value);
std::string to_text(Flops value);
std::string to_text(FlopRate value);

/// Returns the spellings of a type's units, smallest first within each family.
template <class T>
std::vector<std::string_view> unit_names();
template <>
std::vector<std::string_view> unit_names<Duration>();
template <>
std::vector<std::string_view> unit_names<Bytes>();
template <>
std::vector<std::string_view> unit_names<Bandwidth>();
template <>
std::vector<std::string_view> unit_names<Flops>();
template <>
std::vector<std::string_view> unit_names<FlopRate>();

}  // namespace weft
