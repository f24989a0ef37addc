// SPDX-License-Identifier: Apache-2.0
#include "sim/solver/pace.hpp"

#include <random>

#include <gtest/gtest.h>

#include "sim/units/rates.hpp"

namespace weft::sim {
namespace {

constexpr UInt128 fixed(std::uint64_t units_per_second) {
  return UInt128{units_per_second} << 64;
}

TEST(Progress, EndsWhereTheQuotientRoundedUpSays) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t rate = 1 + random() % (std::uint64_t{1} << (1 + random() % 45));
    const std::uint64_t bytes = 1 + random() % (std::uint64_t{1} << (1 + random() % 40));
    if (bytes / rate > 1'000'000) continue;
    const PaceScale scale = PaceScale::of_cap(fixed(rate));
    Progress progress(bytes, scale, TimePoint());
    progress.set_pace(scale.pace(fixed(rate)), TimePoint());
    const Duration exact = Bytes::from(static_cast<std::int64_t>(bytes)) /
                           Bandwidth::from_bytes_per_second(static_cast<std::int64_t>(rate));
    ASSERT_EQ(progress.end().since_start(), exact) << bytes << " B at " << rate << " B/s";
  }
}

TEST(Progress, CuttingAnIntervalChangesNothing) {
  std::mt19937_64 random(12);
  const PaceScale scale = PaceScale::of_cap(fixed(450'000'000'000));
  Progress whole(1 << 30, scale, TimePoint());
  Progress cut = whole;
  std::int64_t now = 0;
  for (int i = 0; i < 100; ++i) {
    const Pace pace = scale.pace(fixed(1 + random() % 450'000'000'000));
    whole.set_pace(pace, TimePoint::from_ps(now));
    cut.set_pace(pace, TimePoint::from_ps(now));
    for (int piece = 0; piece < 5; ++piece) {
      now += static_cast<std::int64_t>(random() % 1'000'000);
      cut.set_pace(pace, TimePoint::from_ps(now));
    }
    ASSERT_EQ(whole.end(), cut.end());
    ASSERT_EQ(whole.units_left(TimePoint::from_ps(now)), cut.units_left(TimePoint::from_ps(now)));
  }
}

TEST(Progress, IsNotDoneOnePicosecondBeforeItsEnd) {
  const PaceScale scale = PaceScale::of_cap(fixed(900'000'000'000));
  Progress progress(1'000'003, scale, TimePoint::from_ps(5));
  progress.set_pace(scale.pace(fixed(900'000'000'000)), TimePoint::from_ps(5));
  const TimePoint end = progress.end();
  EXPECT_EQ(progress.units_left(end), 0U);
  EXPECT_GT(progress.units_left(end - Duration::from_ps(1)), 0U);
  EXPECT_EQ(progress.when_left(1'000'003), TimePoint::from_ps(5));
  const TimePoint half = progress.when_left(500'000);
  EXPECT_LE(progress.units_left(half), 500'000U);
  EXPECT_GT(progress.units_left(half - Duration::from_ps(2)), 500'000U);
}

TEST(Progress, GoesOnInOtherQuanta) {
  const PaceScale coarse = PaceScale::of_cap(fixed(900'000'000'000));
  const PaceScale fine = PaceScale::of_cap(fixed(1'000'000));
  ASSERT_GT(fine.bits, coarse.bits);
  Progress whole(9'000'000, coarse, TimePoint());
  whole.set_pace(coarse.pace(fixed(900'000'000'000)), TimePoint());
  Progress moved = whole;
  const TimePoint half = TimePoint::from_ps(5'000'000);
  moved.rescale(fine, half);
  EXPECT_EQ(moved.end(), TimePoint::max());
  moved.set_pace(fine.pace(fixed(1'000'000)), half);
  EXPECT_EQ(moved.units_left(half), 4'500'000U);
  EXPECT_EQ(moved.end(), half + Duration::from_ps(4'500'000'000'000));
  moved.rescale(coarse, half);
  moved.set_pace(whole.pace(), half);
  EXPECT_EQ(moved.end(), whole.end());
}

TEST(Progress, StandsStillAtPaceZero) {
  Progress progress(1, PaceScale::of_cap(fixed(1)), TimePoint());
  EXPECT_EQ(progress.end(), TimePoint::max());
  EXPECT_EQ(progress.units_left(TimePoint::from_ps(1'000'000)), 1U);
  EXPECT_EQ(Progress().end(), TimePoint());
}

TEST(Progress, RefusesWorkBeyondTheEndOfTime) {
  EXPECT_THROW(Progress(std::uint64_t{1} << 40, PaceScale::of_cap(fixed(1)), TimePoint()),
               CheckFailure);
}

}  // namespace
}  // namespace weft::sim
