// SPDX-License-Identifier: Apache-2.0
// Products that follow others which read the same W.
#include <gtest/gtest.h>

#include "models/cost/gemm.hpp"
#include "models/profile/json.hpp"

namespace weft::model {
namespace {

// 21 MB of W stay in 50 MiB of L2 beside a piece's rows, 117 MB do not; on a quarter of a device's SMs they have a
// quarter of it. What stays changes no price: it is there sooner, where a launch begins.
TEST(Pieces, FindTheWeightsThatTheL2Holds) {
  const Profile profile = load_profile("configs/profiles/h200-sxm.json");
  const SmBudget all = SmBudget::of(profile.gpu, profile.gpu.sms.value), quarter{{16, 17}, 0, 4};
  for (const GemmLibrary library : {GemmLibrary::ours, GemmLibrary::cublaslt}) {
    GemmProblem small{.m = 128, .n = 1280, .k = 8192, .library = library};
    GemmProblem large{.m = 128, .n = 7168, .k = 8192, .library = library};
    const GemmCost first = gemm_cost(profile, small, all);
    EXPECT_FALSE(first.weights_kept);
    small.weights_there = large.weights_there = true;
    EXPECT_TRUE(gemm_cost(profile, small, all).weights_kept);
    EXPECT_FALSE(gemm_cost(profile, large, all).weights_kept);
    EXPECT_FALSE(gemm_cost(profile, small, quarter).weights_kept);
    EXPECT_EQ(gemm_cost(profile, small, all).time, first.time);
  }
}

}  // namespace
}  // namespace weft::model
