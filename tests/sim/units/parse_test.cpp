// SPDX-License-Identifier: Apache-2.0
// Text to quantity: exact values, round trips, and the message for each way to get it wrong.
#include "sim/units/parse.hpp"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace literals;

TEST(Parse, ReadsEveryUnitExactly) {
  EXPECT_EQ(parse_duration("1.5 us").value, 1.5_us);
  EXPECT_EQ(parse_duration("936.25 ns").value, 936'250_ps);
  EXPECT_EQ(parse_duration("0 s").value, 0_ps);
  EXPECT_EQ(parse_duration("1e3 ns").value, 1_us);
  EXPECT_EQ(parse_duration("3us").value, 3_us);
  EXPECT_EQ(parse_bytes("64 KiB").value, 64_KiB);
  EXPECT_EQ(parse_bytes("141 GB").value, 141_GB);
  EXPECT_EQ(parse_bytes("0.5 KiB").value, 512_B);
  EXPECT_EQ(parse_bandwidth("450 GB/s").value, 450_GBps);
  EXPECT_EQ(parse_bandwidth("400 Gb/s").value, 50_GBps);
  EXPECT_EQ(parse_bandwidth("1 GiB/s").value, Bandwidth::from_bytes_per_second(1 << 30));
  EXPECT_EQ(parse_flops("2 TFLOP").value, 2_TFLOPs);
  EXPECT_EQ(parse_flops("1EFLOP").value, Flops::from(1'000'000'000'000'000'000));
  EXPECT_EQ(parse_flop_rate("989.4 TFLOP/s").value, 989.4_TFLOPps);
}

TEST(Parse, IsDecimalAndNeverGoesThroughDouble) {
  // 0.1 s has no exact double; neither has 2^63 - 1.
  EXPECT_EQ(parse_duration("0.1 s").value, 100_ms);
  EXPECT_EQ(parse_bytes("9223372036854775807 B").value, Bytes::max());
  EXPECT_EQ(parse_bandwidth("73786976294838206456 b/s").value, Bandwidth::max());
  EXPECT_EQ(parse_duration("1.000000000000000000000000 us").value, 1_us);
}

struct Bad {
  const char* text;
  const char* error;
  const char* hint;
};

template <class Parser>
void expect_errors(Parser parser, const std::vector<Bad>& table) {
  for (const Bad& row : table) {
    SCOPED_TRACE(row.text);
    const auto parsed = parser(row.text);
    EXPECT_FALSE(parsed.value.has_value());
    EXPECT_EQ(parsed.error, row.error);
    EXPECT_EQ(parsed.hint, row.hint);
  }
}

TEST(Parse, SaysWhatIsWrongWithABandwidth) {
  const char* list =
      "units of a bandwidth: B/s, KB/s, MB/s, GB/s, TB/s, PB/s, KiB/s, MiB/s, GiB/s, TiB/s, b/s, "
      "Kb/s, "
      "Mb/s, Gb/s, Tb/s";
  expect_errors(parse_bandwidth,
                {{"450", "\"450\" has no unit", "write it as in \"450 GB/s\""},
                 {"450 ", "\"450 \" has no unit", "write it as in \"450 GB/s\""},
                 {"450 GBs", "unknown unit \"GBs\"", "did you mean \"GB/s\"?"},
                 {"450 gb/s", "unknown unit \"gb/s\"", "did you mean \"Gb/s\"?"},
                 {"450 furlongs", "unknown unit \"furlongs\"", list},
                 {"450 us", "\"us\" is a unit of a duration, not of a bandwidth", list},
                 {"", "\"\" is not a bandwidth", "write it as in \"450 GB/s\""},
                 {"fast", "\"fast\" is not a bandwidth", "write it as in \"450 GB/s\""},
                 {".5 GB/s", "\".5 GB/s\" is not a bandwidth", "write it as in \"450 GB/s\""},
                 {"-1 GB/s", "\"-1 GB/s\" is negative", "a bandwidth is zero or more"},
                 {"1 b/s", "\"1 b/s\" is not a whole number of base units",
                  "the base unit is one byte a second"},
                 {"1e30 GB/s", "\"1e30 GB/s\" is too large", "at most 9223.372036854775807 PB/s"},
                 {"99999999999 GB/s", "\"99999999999 GB/s\" is too large",
                  "at most 9223.372036854775807 PB/s"}});
}

TEST(Parse, SaysWhatIsWrongWithADuration) {
  expect_errors(
      parse_duration,
      {{"12", "\"12\" has no unit", "write it as in \"1.5 us\""},
       {"1.5 µs", "unknown unit \"µs\"", "did you mean \"us\"?"},
       {"0.3 ps", "\"0.3 ps\" is not a whole number of base units",
        "the base unit is one picosecond"},
       {"1e-999999999999 s", "\"1e-999999999999 s\" is not a whole number of base units",
        "the base unit is one picosecond"},
       {"1e999999999999 s", "\"1e999999999999 s\" is too large", "at most 9223372.036854775807 s"},
       {"9223373 s", "\"9223373 s\" is too large", "at most 9223372.036854775807 s"}});
}

TEST(Parse, SaysWhatIsWrongWithASize) {
  expect_errors(parse_bytes, {{"64 kb", "unknown unit \"kb\"", "did you mean \"KB\"?"},
                              {"64 kib", "unknown unit \"kib\"", "did you mean \"KiB\"?"},
                              {"0.1 KiB", "\"0.1 KiB\" is not a whole number of base units",
                               "the base unit is one byte"}});
}

TEST(Parse, QuotesOnlyTheBeginningOfLongText) {
  const std::string text(1000, 'x');
  EXPECT_EQ(parse_bytes(text).error, "\"" + std::string(40, 'x') + "...\" is not a size");
  EXPECT_EQ(parse_bytes("\n").error, "\"\\x0a\" is not a size");
}

TEST(ToText, IsShort) {
  EXPECT_EQ(to_text(1.5_us), "1.5 us");
  EXPECT_EQ(to_text(12'345'678_ps), "12.345678 us");
  EXPECT_EQ(to_text(0_ps), "0 ps");
  EXPECT_EQ(to_text(-(5_ns)), "-5 ns");
  EXPECT_EQ(to_text(64_KiB), "64 KiB");
  EXPECT_EQ(to_text(80_GB), "80 GB");
  EXPECT_EQ(to_text(1025_B), "1025 B");
  EXPECT_EQ(to_text(450_GBps), "450 GB/s");
  EXPECT_EQ(to_text(3.35_TBps), "3.35 TB/s");
  EXPECT_EQ(to_text(989.4_TFLOPps), "989.4 TFLOP/s");
}

TEST(ToText, RoundTripsExactly) {
  constexpr std::uint64_t kSeed = 7919;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    auto n = static_cast<std::int64_t>(random() >> (1 + random() % 63));
    if (random() % 3 == 0) n = n / 1'000'000 * 1'000'000;
    ASSERT_EQ(parse_duration(to_text(Duration::from_ps(n))).value, Duration::from_ps(n));
    ASSERT_EQ(parse_bytes(to_text(Bytes::from(n))).value, Bytes::from(n));
    ASSERT_EQ(parse_bandwidth(to_text(Bandwidth::from_bytes_per_second(n))).value,
              Bandwidth::from_bytes_per_second(n));
    ASSERT_EQ(parse_flops(to_text(Flops::from(n))).value, Flops::from(n));
    ASSERT_EQ(parse_flop_rate(to_text(FlopRate::from_flops_per_second(n))).value,
              FlopRate::from_flops_per_second(n));
  }
}

}  // namespace
}  // namespace weft
