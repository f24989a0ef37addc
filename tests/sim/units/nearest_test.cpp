// SPDX-License-Identifier: Apache-2.0
#include "sim/units/nearest.hpp"

#include <array>
#include <string_view>

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> kNames{"bandwidth_per_direction", "latency", "links",
                                                 "GB/s"};

TEST(NearestName, FindsSlipsOfTheFinger) {
  EXPECT_EQ(nearest_name("latencey", kNames), "latency");
  EXPECT_EQ(nearest_name("ltaency", kNames), "latency");
  EXPECT_EQ(nearest_name("Links", kNames), "links");
  EXPECT_EQ(nearest_name("GBs", kNames), "GB/s");
  EXPECT_EQ(nearest_name("bandwith_per_direction", kNames), "bandwidth_per_direction");
}

TEST(NearestName, TakesABeginningForTheShortestThatHasIt) {
  constexpr std::array<std::string_view, 3> machines{"h200x8x16", "h200x8", "h100x8"};
  EXPECT_EQ(nearest_name("band", kNames), "bandwidth_per_direction");
  EXPECT_EQ(nearest_name("h200", machines), "h200x8");
  EXPECT_EQ(nearest_name("ba", kNames), std::nullopt);
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("switches", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("", kNames), std::nullopt);
  EXPECT_EQ(nearest_name("links", {}), std::nullopt);
}

TEST(NearestName, ChangeOfCaseIsNearerThanAnotherLetter) {
  constexpr std::array<std::string_view, 2> units{"Gb/s", "GB/s"};
  EXPECT_EQ(nearest_name("gb/s", units), "Gb/s");
  EXPECT_EQ(nearest_name("gB/s", units), "GB/s");
}

}  // namespace
}  // namespace weft
