// SPDX-License-Identifier: Apache-2.0
// Closed forms and laws of the GEMM cost.
#include "models/cost/gemm.hpp"

#include <gtest/gtest.h>

#include "kernels/shapes/choose.hpp"
#include "kernels/shapes/table.hpp"
#include "tests/models/cost/sample_profile.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::sample_profile;

GemmTile square_tile(std::int64_t edge, std::int64_t cluster_m = 1) {
  return {.tile_m = edge,
          .tile_n = edge,
          .tile_k = 64,
          .stages = 4,
          .cluster_m = cluster_m,
          .cluster_n = 1,
          .threads = 384,
          .registers_per_thread = 168,
          .shared_memory = 128_KiB,
          .persistent = true,
          .source = {SourceKind::assumed, "test"}};
}

/// The round profile, where a tile costs nothing but its matrix work at a full clock.
Profile with_gemm() {
  Profile profile = sample_profile();
  GemmConstants gemm;
  gemm.start = given(3_us);
  gemm.prologue = given(Duration{});
  gemm.step = given(Duration{});
  gemm.matrix_efficiency = given(1.0);
  gemm.epilogue_exposed = given(0.0);
  gemm.hbm_efficiency = given(1.0);
  gemm.l2_efficiency = given(1.0);
  gemm.sustained_clock = given(1.0);
  gemm.tiles = {square_tile(128), square_tile(64)};
  profile.gemm = gemm;
  profile.gpu.l2 = given(4000_TBps);
  profile.gpu.hbm = given(4000_TBps);
  return profile;
}

// An SM of 1 TFLOP/s takes 2*128*128*1000*64 flop of a tile of 1000 K steps in 2.097152 ms; 100 tiles on 100
// SMs are one wave, 101 are two.
TEST(Gemm, TimeStepsWithTheWaves) {
  const Profile profile = with_gemm();
  const auto time = [&](std::int64_t row_tiles, std::int64_t sms) {
    const GemmProblem problem{.m = row_tiles * 128, .n = 128, .k = 64000};
    return gemm_cost(profile, problem, SmBudget::of(sms), square_tile(128)).time;
  };
  const Duration tile = Duration::from_ps(2'097'152'000);
  for (const std::int64_t sms : {100, 99, 64, 33, 1}) {
    for (const std::int64_t tiles : {1, 33, 64, 65, 99, 100, 101, 200, 201}) {
      EXPECT_EQ(time(tiles, sms), 3_us + tile * waves_of(tiles, sms)) << tiles << " on " << sms;
    }
  }
}

TEST(Gemm, TimeIsStartAndWavesOfTiles) {
  Profile profile = with_gemm();
  profile.gemm->prologue = given(700_ns);
  profile.gemm->step = given(11_ns);
  profile.gemm->sustained_clock = given(0.8);
  const GemmProblem problem{.m = 5000, .n = 3000, .k = 4096};
  const GemmCost cost = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
  EXPECT_EQ(cost.tiles, 40 * 24);
  EXPECT_EQ(cost.waves, 10);
  EXPECT_EQ(cost.k_steps, 64);
  EXPECT_EQ(cost.time, cost.start + cost.tile_time() * cost.waves);
  EXPECT_LT(cost.clock, 1.0);
  EXPECT_GE(cost.clock, 0.8);
}

// GPCs of 18, 18, 18, 18, 16, 16, 14 and 14 SMs hold 4+4+4+4+4+4+3+3 clusters of four: 120 of 132 SMs.
TEST(SmBudget, ClustersOfFourLoseSmsToTheEdgesOfGpcs) {
  const SmBudget budget{{18, 18, 18, 18, 16, 16, 14, 14}};
  EXPECT_EQ(budget.sms(), 132);
  EXPECT_EQ(budget.resident_ctas(1), 132);
  EXPECT_EQ(budget.resident_ctas(2), 132);
  EXPECT_EQ(budget.resident_ctas(4), 120);
}

TEST(Gemm, ClusterThatFitsNowhereIsRefused) {
  EXPECT_THROW((void)gemm_cost(with_gemm(), {.m = 128, .n = 128, .k = 64}, SmBudget{{3, 3}},
                               square_tile(128, 4)),
               std::domain_error);
}

TEST(Gemm, OneKernelIsMonotoneInEveryDimension) {
  Profile profile = with_gemm();
  profile.gemm->sustained_clock = given(0.75);
  profile.gemm->prologue = given(1_us);
  profile.gpu.hbm = given(2_TBps);
  profile.gpu.l2 = given(6_TBps);
  const auto time = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_cost(profile, {.m = m, .n = n, .k = k}, SmBudget::of(100), square_tile(128)).time;
  };
  for (std::int64_t size = 64; size < 12000; size += 61) {
    EXPECT_LE(time(size, 4096, 4096), time(size + 61, 4096, 4096)) << size;
    EXPECT_LE(time(4096, size, 4096), time(4096, size + 61, 4096)) << size;
    EXPECT_LE(time(4096, 4096, size), time(4096, 4096, size + 61)) << size;
  }
}

TEST(Gemm, FewerSmsAreNeverFasterForOneKernel) {
  const Profile profile = with_gemm();
  const GemmProblem problem{.m = 8192, .n = 3584, .k = 8192};
  Duration last;
  for (std::int64_t sms = 100; sms > 0; --sms) {
    const Duration now = gemm_cost(profile, problem, SmBudget::of(sms), square_tile(128)).time;
    EXPECT_GE(now, last) << sms;
    last = now;
  }
}

// A [256, 64] x [64, 256] product moves 2 x 32 KiB in and 128 KiB out: at 1 MB/s that is all that counts.
TEST(Gemm, NeverFasterThanItsCompulsoryTraffic) {
  Profile profile = with_gemm();
  profile.gpu.hbm = given(Bandwidth::from_bytes_per_second(1'000'000));
  const GemmCost cost =
      gemm_cost(profile, {.m = 256, .n = 256, .k = 64}, SmBudget::of(100), square_tile(128));
  EXPECT_EQ(cost.time, cost.start + 196608_B / Bandwidth::from_bytes_per_second(1'000'000));
  EXPECT_EQ(cost.hbm_per_tile * cost.tiles, 196608_B);
}

// 2 x 8192 x 8192 operands of 2 bytes do not fit 25 MiB of L2; whatever the order, each is read at least once
// and no tile loads more than its own rows and columns.
TEST(Gemm, TrafficLiesBetweenCompulsoryAndNoReuse) {
  const Profile profile = with_gemm();
  const GemmProblem problem{.m = 8192, .n = 8192, .k = 8192};
  const GemmCost cost = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
  const Bytes output = 128_MiB;
  EXPECT_GE(cost.hbm_per_tile * cost.tiles, 256_MiB + output);
  EXPECT_LE(cost.hbm_per_tile * cost.tiles, output + 2_B * 256 * 8192 * cost.tiles);
}

TEST(GemmLibrary, TakesTheTileWithTheLeastTime) {
  const Profile profile = with_gemm();
  for (const std::int64_t m : {64, 640, 6400, 8192}) {
    const GemmProblem problem{.m = m, .n = 2048, .k = 4096};
    const GemmCost chosen = gemm_cost(profile, problem, SmBudget::of(100));
    for (const GemmTile& tile : profile.gemm->tiles) {
      EXPECT_LE(chosen.time, gemm_cost(profile, problem, SmBudget::of(100), tile).time);
    }
    EXPECT_FALSE(chosen.choice.empty());
  }
}

TEST(GemmLibrary, OursTakesTheTileOfTheShippedChooser) {
  const Profile profile = with_gemm();
  namespace shapes = kernels::shapes;
  for (const int m : {128, 1024, 6144}) {
    const GemmCost cost = gemm_cost(
        profile, {.m = m, .n = 3584, .k = 8192, .library = GemmLibrary::ours}, SmBudget::of(132));
    const auto& tile =
        shapes::tiles[static_cast<std::size_t>(shapes::choose_tile(m, 3584, 8192, 132))];
    EXPECT_EQ(cost.kernel.tile_m, tile.m());
    EXPECT_EQ(cost.kernel.tile_n, tile.n());
    EXPECT_EQ(cost.footprint.shared_memory, Bytes::from(tile.shared_bytes()));
    EXPECT_EQ(cost.footprint.registers, tile.registers());
  }
}

TEST(Gemm, HalfTheBitsOfOperandsAtTwiceTheRateHalveTheWork) {
  const Profile profile = with_gemm();
  const GemmProblem bf16{.m = 1280, .n = 1280, .k = 6400};
  GemmProblem fp8 = bf16;
  fp8.input = DType::fp8_e4m3;
  const Duration slow = gemm_cost(profile, bf16, SmBudget::of(100), square_tile(128)).main_loop;
  const Duration fast = gemm_cost(profile, fp8, SmBudget::of(100), square_tile(128)).main_loop;
  EXPECT_EQ(slow, fast * 2);
}

TEST(Gemm, MissingConstantsAreNamed) {
  EXPECT_THROW((void)gemm_cost(sample_profile(), {.m = 1, .n = 1, .k = 1}, SmBudget::of(1)),
               MissingConstant);
  EXPECT_THROW((void)gemm_cost(with_gemm(), {.m = 1, .n = 1, .k = 1, .input = DType::fp4_e2m1},
                               SmBudget::of(1)),
               MissingConstant);
  EXPECT_THROW((void)gemm_cost(with_gemm(), {.m = 0, .n = 1, .k = 1}, SmBudget::of(1)),
               std::domain_error);
}

}  // namespace
}  // namespace weft::model
