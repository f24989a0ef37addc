// SPDX-License-Identifier: Apache-2.0
// The spellings of every unit and their sizes; private to format.cpp and parse.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/units/bytes.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::detail {

/// One spelling; its size is numerator / denominator base units (the denominator is 8 for bits).
struct UnitName {
  std::string_view name;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

inline constexpr std::int64_t kKilo = 1'000;
inline constexpr std::int64_t kMega = kKilo * kKilo;
inline constexpr std::int64_t kGiga = kMega * kKilo;
inline constexpr std::int64_t kTera = kGiga * kKilo;
inline constexpr std::int64_t kPeta = kTera * kKilo;
inline constexpr std::int64_t kExa = kPeta * kKilo;
inline constexpr std::int64_t kKibi = std::int64_t{1} << 10;
inline constexpr std::int64_t kMebi = std::int64_t{1} << 20;
inline constexpr std::int64_t kGibi = std::int64_t{1} << 30;
inline constexpr std::int64_t kTebi = std::int64_t{1} << 40;
inline constexpr std::int64_t kPebi = std::int64_t{1} << 50;

inline constexpr UnitName kTimeUnits[] = {
    {"ps", 1}, {"ns", kKilo}, {"us", kMega}, {"ms", kGiga}, {"s", kTera}};
inline constexpr UnitName kDecimalByteUnits[] = {{"B", 1},      {"KB", kKilo}, {"MB", kMega},
                                                 {"GB", kGiga}, {"TB", kTera}, {"PB", kPeta}};
inline constexpr UnitName kBinaryByteUnits[] = {{"B", 1},       {"KiB", kKibi}, {"MiB", kMebi},
                                                {"GiB", kGibi}, {"TiB", kTebi}, {"PiB", kPebi}};
inline constexpr UnitName kByteUnits[] = {
    {"B", 1},       {"KB", kKilo},  {"MB", kMega},  {"GB", kGiga},  {"TB", kTera}, {"PB", kPeta},
    {"KiB", kKibi}, {"MiB", kMebi}, {"GiB", kGibi}, {"TiB", kTebi}, {"PiB", kPebi}};
inline constexpr UnitName kDecimalBandwidthUnits[] = {{"B/s", 1},      {"KB/s", kKilo},
                                                      {"MB/s", kMega}, {"GB/s", kGiga},
                                                      {"TB/s", kTera}, {"PB/s", kPeta}};
inline constexpr UnitName kBandwidthUnits[] = {
    {"B/s", 1},         {"KB/s", kKilo},    {"MB/s", kMega},   {"GB/s", kGiga},
    {"TB/s", kTera},    {"PB/s", kPeta},    {"KiB/s", kKibi},  {"MiB/s", kMebi},
    {"GiB/s", kGibi},   {"TiB/s", kTebi},   {"b/s", 1, 8},     {"Kb/s", kKilo, 8},
    {"Mb/s", kMega, 8}, {"Gb/s", kGiga, 8}, {"Tb/s", kTera, 8}};
inline constexpr UnitName kFlopUnits[] = {{"FLOP", 1},      {"KFLOP", kKilo}, {"MFLOP", kMega},
                                          {"GFLOP", kGiga}, {"TFLOP", kTera}, {"PFLOP", kPeta},
                                          {"EFLOP", kExa}};
inline constexpr UnitName kFlopRateUnits[] = {
    {"FLOP/s", 1},      {"KFLOP/s", kKilo}, {"MFLOP/s", kMega}, {"GFLOP/s", kGiga},
    {"TFLOP/s", kTera}, {"PFLOP/s", kPeta}, {"EFLOP/s", kExa}};

/// One dimension: what it is called, its spellings, an example and the limit of 64 bits in words.
struct Dimension {
  std::string_view article_name;  // "a bandwidth"
  std::string_view name;          // "bandwidth"
  std::string_view base;          // "byte a second"
  std::string_view example;
  std::span<const UnitName> units;
};

inline constexpr Dimension kTime{"a duration", "duration", "picosecond", "1.5 us", kTimeUnits};
inline constexpr Dimension kSize{"a size", "size", "byte", "64 KiB", kByteUnits};
inline constexpr Dimension kBandwidth{"a bandwidth", "bandwidth", "byte a second", "450 GB/s",
                                      kBandwidthUnits};
inline constexpr Dimension kWork{"an amount of work", "amount of work", "operation", "2 TFLOP",
                                 kFlopUnits};
inline constexpr Dimension kFlopRate{"a rate of work", "rate of work", "operation a second",
                                     "989.4 TFLOP/s", kFlopRateUnits};
inline constexpr const Dimension* kDimensions[] = {&kTime, &kSize, &kBandwidth, &kWork, &kFlopRate};

}  // namespace weft::detail
