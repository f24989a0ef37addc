// SPDX-License-Identifier: Apache-2.0
// The clock that a product runs at: what the power controller answers, and what it settles at.
#include <gtest/gtest.h>

#include "models/cost/gemm.hpp"
#include "tests/models/cost/plain_gemm.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::square_tile;
using testing::with_gemm;

// All 100 SMs multiply all the time: the clock is the sustained one, and the power limit's where work goes on.
TEST(Clock, IsTheSustainedOneOfADeviceThatOnlyMultiplies) {
  Profile profile = with_gemm();
  profile.gemm->sustained_clock = given(0.8);
  profile.gemm->power_limited_clock = given(0.5);
  profile.gemm->power_exponent = given(2.0);
  GemmProblem problem{.m = 1280, .n = 1280, .k = 6400};
  const auto clock = [&](std::int64_t sms) {
    return gemm_cost(profile, problem, SmBudget::of(sms), square_tile(128)).clock;
  };
  EXPECT_NEAR(clock(100), 0.8, 1e-6);
  EXPECT_NEAR(clock(50), 1 - 0.2 * 0.25, 1e-6);  // half of the units: a quarter of the drop
  problem.power_limited = true;
  EXPECT_NEAR(clock(100), 0.5, 1e-6);
}

// K steps of 2.097152 us each, on all SMs at once: 0.9 of the clock for 100 us, 0.5 for 50 us, then 0.8.
// Half of the SMs: the answer falls with the load, the clock that it settles at with its square.
TEST(Clock, TheAnswerOfThePowerControllerHasAnExponentOfItsOwn) {
  Profile profile = with_gemm();
  profile.gemm->sustained_clock = given(0.8);
  profile.gemm->power_exponent = given(2.0);
  profile.gemm->answer = PowerAnswer{given(0.9), given(100_us), given(0.5), given(50_us)};
  const GemmProblem problem{.m = 640, .n = 1280, .k = 6400};
  const auto work = [&] {
    return ratio(gemm_cost(profile, problem, SmBudget::of(50), square_tile(128)).tile_time(), 1_us);
  };
  const double steps = 100 * 2.097152;
  EXPECT_NEAR(work(), 150 + (steps - 97.5 - 50 * 0.875) / 0.95, 1e-3);
  profile.gemm->answer->exponent = given(1.0);
  EXPECT_NEAR(work(), 150 + (steps - 95 - 50 * 0.75) / 0.95, 1e-3);
}

TEST(Clock, IsFreshThenLowWhileThePowerControllerAnswersThenSustained) {
  Profile profile = with_gemm();
  profile.gemm->sustained_clock = given(0.8);
  profile.gemm->power_limited_clock = given(0.7);
  profile.gemm->answer = PowerAnswer{given(0.9), given(100_us), given(0.5), given(50_us)};
  GemmProblem problem{.m = 1280, .n = 1280};
  const double step = 2.097152;
  const auto work = [&](std::int64_t steps) {
    problem.k = steps * 64;
    const GemmCost cost = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
    EXPECT_EQ(cost.time, cost.start + cost.tile_time());
    return ratio(cost.tile_time(), 1_us);
  };
  EXPECT_NEAR(work(20), 20 * step / 0.9, 1e-3);
  EXPECT_NEAR(work(50), 100 + (50 * step - 90) / 0.5, 1e-3);
  EXPECT_NEAR(work(100), 150 + (100 * step - 90 - 25) / 0.8, 1e-3);
  // What follows others finds a controller that has answered; so does work that goes on.
  problem.follows_others = true;
  EXPECT_NEAR(work(50), 50 * step / 0.8, 1e-3);
  problem.power_limited = true;
  EXPECT_NEAR(work(50), 50 * step / 0.7, 1e-3);
}

}  // namespace
}  // namespace weft::model
