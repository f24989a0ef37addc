// SPDX-License-Identifier: Apache-2.0
// The laws of the unit types: what may be added and divided, how quotients round, what overflows.
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

#include "sim/units/bytes.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/integer.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft {
namespace {

using namespace literals;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Divisible = requires(A a, B b) {
  a / b;
};

TEST(Units, OnlyDimensionallyTrueOperatorsExist) {
  static_assert(Addable<Duration, Duration> && Addable<TimePoint, Duration>);
  static_assert(!Addable<TimePoint, TimePoint> && !Addable<Duration, Bytes>);
  static_assert(!Addable<Duration, int> && !std::is_convertible_v<int, Duration>);
  static_assert(Multipliable<Duration, int> && !Multipliable<Duration, double>);
  static_assert(!Multipliable<Duration, Duration> && !Multipliable<Duration, bool>);
  static_assert(Divisible<Bytes, Bandwidth> && Divisible<Flops, FlopRate>);
  static_assert(!Divisible<Bytes, FlopRate> && !Divisible<Flops, Bandwidth>);
  static_assert(!Divisible<Duration, Duration> && !Divisible<Bandwidth, Bytes>);
}

TEST(Units, LiteralsAreExact) {
  EXPECT_EQ((1_s).ps(), 1'000'000'000'000);
  EXPECT_EQ(1.5_us, 1500_ns);
  EXPECT_EQ(936.25_ns, 936'250_ps);
  EXPECT_EQ((64_KiB).count(), 65'536);
  EXPECT_EQ((1_GB).count(), 1'000'000'000);
  EXPECT_EQ((1_GiB).count(), 1'073'741'824);
  EXPECT_EQ(400_Gbps, 50_GBps);
  EXPECT_EQ(3.35_TBps, 3350_GBps);
  EXPECT_EQ((989.4_TFLOPps).flops_per_second(), 989'400'000'000'000);
}

TEST(Duration, DefaultIsZero) {
  EXPECT_EQ(Duration{}, 0_ps);
  EXPECT_EQ(TimePoint{}.ps(), 0);
}

TEST(Duration, AddsSubtractsScalesAndCompares) {
  EXPECT_EQ(1_us + 500_ns, 1.5_us);
  EXPECT_EQ(1_us - 2_us, Duration::from_ps(-1'000'000));
  EXPECT_EQ(3 * 2_ns, 6_ns);
  EXPECT_EQ(-(3_ps), Duration::from_ps(-3));
  EXPECT_LT(1_us, 1_ms);
  EXPECT_DOUBLE_EQ(ratio(3_us, 2_us), 1.5);
}

TEST(TimePoint, DifferenceIsADuration) {
  const TimePoint t = TimePoint::from_ps(5) + 3_ps;
  EXPECT_EQ(t - TimePoint::from_ps(5), 3_ps);
  EXPECT_EQ((t - 8_ps), TimePoint{});
  EXPECT_LT(TimePoint{}, t);
}

TEST(DivideUp, IsTheCeilingForEverySign) {
  EXPECT_EQ(divide_up(7, 2), 4);
  EXPECT_EQ(divide_up(6, 2), 3);
  EXPECT_EQ(divide_up(0, 5), 0);
  EXPECT_EQ(divide_up(-7, 2), -3);
  EXPECT_THROW(divide_up(1, 0), std::domain_error);
  EXPECT_EQ(7_ps / 2, 4_ps);
}

TEST(Bytes, TransferTimeIsBytesOverBandwidthRoundedUp) {
  EXPECT_EQ(1_B / 900_GBps, 2_ps);  // 1.11 ps
  EXPECT_EQ(900_GB / 900_GBps, 1_s);
  EXPECT_EQ(0_B / 1_GBps, 0_ps);
  EXPECT_THROW((void)(1_B / Bandwidth{}), std::domain_error);
}

TEST(Bytes, TransferTimeUsesAWideProduct) {
  // 1 TiB x 10^12 is 1.1e24, far beyond 64 bits.
  EXPECT_EQ((1_TiB / 1_GBps).ps(), 1'099'511'627'776'000);
}

TEST(Bytes, TransferTimeThatDoesNotFitThrows) {
  EXPECT_THROW((void)(Bytes::max() / Bandwidth::from_bytes_per_second(1)), std::overflow_error);
}

TEST(Bytes, MeanBandwidthIsTheInverseOfTransferTime) {
  EXPECT_EQ(450_GB / 1_s, 450_GBps);
  EXPECT_THROW((void)(1_B / 0_ps), std::domain_error);
}

TEST(Flops, TimeIsFlopsOverRateRoundedUp) {
  EXPECT_EQ(2_TFLOPs / 1_TFLOPps, 2_s);
  EXPECT_EQ(Flops::from(1) / 1_TFLOPps, 1_ps);
  EXPECT_EQ(Flops::from(1) / 2_TFLOPps, 1_ps);
  EXPECT_THROW((void)(1_TFLOPs / FlopRate{}), std::domain_error);
}

TEST(Quantity, OverflowThrowsInsteadOfWrapping) {
  EXPECT_THROW((void)(Flops::from(kMax / 2) * 3), std::overflow_error);
  EXPECT_THROW((void)(Duration::max() + 1_ps), std::overflow_error);
  EXPECT_THROW((void)(Duration::from_ps(-kMax) - 2_ps), std::overflow_error);
  EXPECT_THROW((void)(1_B * std::numeric_limits<std::uint64_t>::max()), std::overflow_error);
  EXPECT_THROW((void)narrow(Int128{kMax} + 1), std::overflow_error);
}

// For random amounts and rates, t is the least time in which rate x t covers the amount.
TEST(Bytes, TransferTimeIsTheLeastThatCoversTheBytes) {
  constexpr std::uint64_t kSeed = 20240611;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() >> (20 + random() % 40));
    const auto rate = static_cast<std::int64_t>(1 + (random() >> (24 + random() % 16)));
    const std::int64_t t = divide_up(Int128{bytes} * kPicosecondsPerSecond, 1 + rate * 1'000);
    const Duration time = Bytes::from(bytes) / Bandwidth::from_bytes_per_second(1 + rate * 1'000);
    ASSERT_EQ(time.ps(), t);
    const Int128 needed = Int128{bytes} * kPicosecondsPerSecond;
    ASSERT_TRUE(Int128{t} * (1 + rate * 1'000) >= needed);
    ASSERT_TRUE(t == 0 || Int128{t - 1} * (1 + rate * 1'000) < needed);
  }
}

struct LinkTag;
struct DeviceTag;

TEST(Id, KindsDoNotMixAndIdsHash) {
  static_assert(!std::is_convertible_v<Id<LinkTag>, Id<DeviceTag>>);
  static_assert(!std::is_convertible_v<std::uint32_t, Id<LinkTag>>);
  const std::unordered_set<Id<LinkTag>> ids{Id<LinkTag>(1), Id<LinkTag>(2), Id<LinkTag>(1)};
  EXPECT_EQ(ids.size(), 2U);
  EXPECT_LT(Id<LinkTag>(1), Id<LinkTag>(2));
}

}  // namespace
}  // namespace weft
