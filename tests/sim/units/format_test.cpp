// SPDX-License-Identifier: Apache-2.0
#include "sim/units/format.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using namespace literals;

TEST(Format, TimeIsShownInTheLargestUnitItFills) {
  EXPECT_EQ(human(0_ps), "0 ps");
  EXPECT_EQ(human(999_ps), "999 ps");
  EXPECT_EQ(human(12'340_ns), "12.34 us");
  EXPECT_EQ(human(1.5_us), "1.5 us");
  EXPECT_EQ(human(100_us), "100 us");
  EXPECT_EQ(human(-(3_ms)), "-3 ms");
  EXPECT_EQ(human(7200_s), "7200 s");
  EXPECT_EQ(human(Duration::max()), "9223372.04 s");
}

TEST(Format, RoundingCarriesIntoTheNextUnit) {
  EXPECT_EQ(human(999'994_ps), "999.99 ns");
  EXPECT_EQ(human(999'996_ps), "1 us");
}

TEST(Format, SizesAreBinaryUnlessOnlyDecimalIsExact) {
  EXPECT_EQ(human(512_KiB), "512 KiB");
  EXPECT_EQ(human(1000_B), "1 KB");
  EXPECT_EQ(human(141_GB), "141 GB");
  EXPECT_EQ(human(1536_B), "1.5 KiB");
  EXPECT_EQ(human(67'108'864_B), "64 MiB");
}

TEST(Format, RatesAreDecimal) {
  EXPECT_EQ(human(450_GBps), "450 GB/s");
  EXPECT_EQ(human(3.35_TBps), "3.35 TB/s");
  EXPECT_EQ(human(989.4_TFLOPps), "989.4 TFLOP/s");
  EXPECT_EQ(human(2_TFLOPs), "2 TFLOP");
}

TEST(Format, WidthAndAlignmentWorkAsForText) {
  EXPECT_EQ(fmt::format("[{:>10}|{:<8}]", 1.5_us, 64_KiB), "[    1.5 us|64 KiB  ]");
  EXPECT_EQ(fmt::format("{} {}", TimePoint::from_ps(5), Id<struct Tag>(7)), "5 ps 7");
}

}  // namespace
}  // namespace weft
