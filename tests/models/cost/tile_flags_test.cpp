// SPDX-License-Identifier: Apache-2.0
// What lies behind a tile that posts flags, in closed form.
#include "models/cost/tile_flags.hpp"

#include <gtest/gtest.h>

#include "models/profile/json.hpp"

namespace weft::model {
namespace {

constexpr Duration us(double time) {
  return Duration::from_ps(static_cast<std::int64_t>(time * 1e6));
}

Profile h200(std::optional<Duration> slot, std::optional<Duration> flag) {
  Profile profile = load_profile("configs/profiles/h200-sxm.json");
  profile.control.store_slot.reset();
  profile.control.tile_flag.reset();
  if (slot) profile.control.store_slot = {*slot, {}};
  if (flag) profile.control.tile_flag = {*flag, {}};
  return profile;
}

GemmTile turns_of(std::int64_t columns) {
  GemmTile tile;
  tile.tile_m = 128;
  tile.tile_n = columns;
  tile.cluster_m = 2;
  tile.overlaps_epilogue = true;
  return tile;
}

// The slots of all warps that store a tile hold all of it, and nothing else.
TEST(TileFlags, SlotsHoldATile) {
  for (const kernels::shapes::Tile& tile : kernels::shapes::tiles) {
    const int warps = tile.hides_turns() ? 1 : tile.warpgroups;
    EXPECT_EQ(tile.slots_of_tile() * warps * tile.split_k * tile.slot_bytes(),
              2 * tile.m() * tile.n())
        << tile.name;
  }
}

TEST(TileFlags, LieBehindTheSlotsOfTheirTile) {
  const Profile profile = h200(us(0.5), us(3));
  // 64 rows x 64 columns, 32 and 16.
  EXPECT_EQ(behind_tile(profile, turns_of(128), 1, 1), us(4 * 0.5 + 3));
  EXPECT_EQ(behind_tile(profile, turns_of(192), 1, 2), us(12 * 0.5 + 2 * 3));
  EXPECT_EQ(behind_tile(profile, turns_of(176), 1, 1), us(22 * 0.5 + 3));
}

TEST(TileFlags, FollowAStoreAtAnSmsShareOfTheHbmWhereSlotsAreNotKnown) {
  const Profile profile = h200({}, us(3));
  const double share = static_cast<double>(profile.gpu.hbm.value.bytes_per_second()) *
                       profile.gemm->hbm_efficiency.value /
                       static_cast<double>(profile.gpu.sms.value);
  const double store = profile.gemm->drain->value * 2 * 128 * 192 / share * 1e6;
  EXPECT_NEAR(ratio(behind_tile(profile, turns_of(192), 1, 1), us(store + 3)), 1, 1e-6);
  // Of no kernel of ours, likewise.
  EXPECT_EQ(behind_tile(h200(us(0.5), us(3)), turns_of(200), 1, 1),
            behind_tile(profile, turns_of(200), 1, 1));
  EXPECT_EQ(behind_tile(h200(us(0.5), {}), turns_of(192), 1, 1), Duration());
}

// A product's price has the store of its last tile; every other tile hides what a warpgroup multiplies meanwhile.
TEST(TileFlags, ShowWhatNothingHides) {
  const Profile profile = h200(us(0.5), us(3));
  const GemmTile kernel = turns_of(192);
  const Duration store = store_in_price(profile, kernel, 1);
  EXPECT_GT(store, us(1));
  EXPECT_EQ(shown_behind(profile, kernel, 1, us(9)), us(9) - store);
  EXPECT_EQ(shown_behind(profile, kernel, 1, Duration()), Duration());
  EXPECT_EQ(exposed_behind(kernel, us(9), us(4)), us(2.5));
  EXPECT_EQ(exposed_behind(kernel, us(9), us(10)), Duration());
}

}  // namespace
}  // namespace weft::model
