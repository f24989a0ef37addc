// SPDX-License-Identifier: Apache-2.0
// Products on parts of a device: what was measured there, and what others beside them change.
#include <cmath>

#include <gtest/gtest.h>

#include "models/cost/gemm.hpp"
#include "tests/models/cost/plain_gemm.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::square_tile;
using testing::with_gemm;

// Halves of a device of 100 SMs in four GPCs, and a product measured on the first of them.
Profile with_parts() {
  Profile profile = with_gemm();
  profile.gpu.sms_per_gpc = given(std::vector<int>{24, 24, 24, 28});
  profile.gemm->measured_on_parts = {{GemmLibrary::cublaslt,
                                      1280,
                                      6400,
                                      48,
                                      {{1280, 50_us, 128, 128, 64, 4, 1, 1, 1}},
                                      {SourceKind::measured, "test"}}};
  return profile;
}

SmBudget half(std::int64_t at_work) {
  return {{24, 24}, 0, at_work};
}

constexpr GemmProblem kMeasured{.m = 1280, .n = 1280, .k = 6400};

TEST(GemmOnParts, ARowOfAPartIsOfPartsAlone) {
  const Profile profile = with_parts();
  Profile bare = profile;
  bare.gemm->measured_on_parts.clear();
  EXPECT_NEAR(ratio(gemm_cost(profile, kMeasured, half(1)).time, 50_us), 1, 1e-6);
  // A limit of as many SMs of the whole device is no part.
  EXPECT_EQ(gemm_cost(profile, kMeasured, SmBudget::of(48)).time,
            gemm_cost(bare, kMeasured, SmBudget::of(48)).time);
}

// What another part beside it does to the model it does to the measured row.
TEST(GemmOnParts, PartsAtWorkCarryTheRatioOfTheRow) {
  Profile profile = with_parts();
  profile.gpu.l2 = given(50_GBps);
  const auto modelled = [&](std::int64_t at_work) {
    return gemm_cost(profile, kMeasured, half(at_work), square_tile(128)).time;
  };
  EXPECT_GT(modelled(2), modelled(1));
  EXPECT_NEAR(ratio(gemm_cost(profile, kMeasured, half(2)).time, 50_us),
              ratio(modelled(2), modelled(1)), 1e-6);
}

// The library takes what it took for the product nearest to this one, suit it or not; without such, what suits best.
TEST(GemmOnParts, ALibraryTakesWhatItTookNearby) {
  Profile profile = with_parts();
  profile.gemm->prologue = given(20_us);
  auto& row = profile.gemm->measured_on_parts.front().rows.front();
  row.tile_m = row.tile_n = 64;
  const GemmProblem other{.m = 1280, .n = 2560, .k = 6400};
  EXPECT_EQ(gemm_cost(profile, other, half(1)).kernel.tile_m, 64);
  profile.gemm->measured_on_parts.clear();
  EXPECT_EQ(gemm_cost(profile, other, half(1)).kernel.tile_m, 128);
}

// A band of tiles has no more rows than X: 128 rows of 8,192 are 2 MiB and stay in an eighth of the L2 while W is read,
// where as many rows as a square of 48 tiles has do not.
TEST(GemmOnParts, ThinProductsReadTheirRowsOnce) {
  Profile profile = with_parts();
  profile.gpu.l2_size = given(40_MiB);
  const GemmProblem thin{.m = 128, .n = 12800, .k = 8192};
  const GemmCost cost = gemm_cost(profile, thin, half(8), square_tile(128));
  const std::int64_t once = (thin.m + thin.n) * thin.k * 2 + thin.m * thin.n * 2;
  EXPECT_NEAR(
      static_cast<double>(cost.hbm_per_tile.count() * cost.tiles) / static_cast<double>(once), 1,
      1e-3);
}

}  // namespace
}  // namespace weft::model
