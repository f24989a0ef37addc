// SPDX-License-Identifier: Apache-2.0
// Closed forms and laws of the GEMM cost.
#include "models/cost/gemm.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "kernels/shapes/choose.hpp"
#include "kernels/shapes/table.hpp"
#include "tests/models/cost/plain_gemm.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::sample_profile;
using testing::square_tile;
using testing::with_gemm;

// Told to leave SMs free, a grid of a CTA a tile neither does so nor gets faster by it.
TEST(Gemm, OnlyPersistentKernelsLeaveSmsFree) {
  Profile profile = with_gemm();
  profile.gemm->tiles = {square_tile(128)};
  const GemmProblem problem{.m = 200 * 128, .n = 128, .k = 64000};
  const auto cost = [&](std::int64_t most) {
    SmBudget budget = SmBudget::of(100);
    budget.most = most;
    return gemm_cost(profile, problem, budget);
  };
  EXPECT_EQ(cost(50).resident, 50);
  EXPECT_GT(cost(50).time, cost(0).time);
  profile.gemm->tiles.front().persistent = false;
  EXPECT_EQ(cost(50).resident, 100);
  EXPECT_EQ(cost(50).time, cost(0).time);
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

// A library counts 32 SMs of a partition and launches four clusters of eight, of which three fit: 48 of 56 tiles are two
// waves, and those of the late cluster one more. Ours sees what fits: 56 tiles on 24 SMs.
TEST(Gemm, ALibraryDoesNotSeeTheGpcsOfAPartition) {
  const SmBudget partition{{8, 8, 8, 2, 2, 2, 2}, 0, 3};
  GemmProblem problem{.m = 8 * 128, .n = 7 * 128, .k = 1024};
  problem.library = GemmLibrary::cublaslt;
  const GemmCost theirs = gemm_cost(with_gemm(), problem, partition, square_tile(128, 8));
  EXPECT_EQ(theirs.grid, 32);
  EXPECT_EQ(theirs.waves, 3);
  problem.library = GemmLibrary::ours;
  EXPECT_EQ(gemm_cost(with_gemm(), problem, partition, square_tile(128, 8)).grid, 24);
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

// One wave of one K step, where loads, not multiplications, set the step: the stages in flight share the latency.
TEST(Gemm, StagesInFlightShareTheLatencyOfLoads) {
  Profile profile = with_gemm();
  profile.gemm->load_latency = given(1_ms);
  for (const std::int64_t stages : {2, 4, 8}) {
    GemmTile tile = square_tile(128);
    tile.stages = stages;
    const GemmCost cost =
        gemm_cost(profile, {.m = 128, .n = 128, .k = 64}, SmBudget::of(100), tile);
    EXPECT_EQ(cost.main_loop, Duration::from_ps(1'000'000'000 / stages)) << stages;
  }
}

TEST(Gemm, TilesThatAreComputedInTurnsHideTheirStore) {
  Profile profile = with_gemm();
  profile.gemm->epilogue_exposed = given(1.0);
  const GemmProblem problem{.m = 1280, .n = 1280, .k = 640};
  GemmTile tile = square_tile(128);
  const GemmCost shown = gemm_cost(profile, problem, SmBudget::of(100), tile);
  tile.overlaps_epilogue = true;
  const GemmCost hidden = gemm_cost(profile, problem, SmBudget::of(100), tile);
  EXPECT_GT(shown.epilogue, Duration());
  EXPECT_EQ(hidden.epilogue, Duration());
  EXPECT_EQ(hidden.time + shown.epilogue * shown.waves, shown.time);
}

// Two ranks on halves of one device: the SMs of each load from the L2 at half of its rate. HBM is shared by those who
// read it at the time, which a price does not know; 10 MB of operands each fit half of the L2 together, 20 MB each do not
// and are read by waves.
TEST(Gemm, RanksThatShareADeviceShareItsL2) {
  Profile profile = with_gemm();
  const SmBudget alone = SmBudget::of(50), half{{25, 25}, 0, 2};
  const GemmProblem problem{.m = 1280, .n = 1280, .k = 1920};
  const auto loop = [&](const SmBudget& budget) {
    return ratio(gemm_cost(profile, problem, budget, square_tile(128)).main_loop, 1_us);
  };
  EXPECT_EQ(loop(half), loop(alone));
  profile.gpu.l2 = given(50_GBps);
  EXPECT_NEAR(loop(half) / loop(alone), 2, 0.01);
  profile.gpu.l2 = given(4000_TBps);
  profile.gpu.hbm = given(Bandwidth::from_bytes_per_second(10'000'000'000));
  EXPECT_NEAR(loop(half) / loop(alone), 1, 0.01);
  const GemmProblem large{.m = 1280, .n = 1280, .k = 3840};
  const auto read = [&](const SmBudget& budget) {
    const GemmCost cost = gemm_cost(profile, large, budget, square_tile(128));
    return cost.hbm_per_tile * cost.tiles;
  };
  EXPECT_GT(read(half), read(alone));
}

// 2,048 rows of 8,192 are 32 MiB, more than half of the L2 keeps: a wave of 100 tiles covers all 16 rows of tiles and
// six columns and a quarter, so that A is read once for every 800 columns of B.
TEST(Gemm, OurKernelsWalkGroupsOfRows) {
  GemmProblem problem{.m = 4096, .n = 12800, .k = 8192};
  problem.library = GemmLibrary::ours;
  const GemmCost cost = gemm_cost(with_gemm(), problem, SmBudget::of(100), square_tile(128));
  const double groups = 2, turns = 16;
  const double rows = groups * 12800 + turns * 4096;
  const double bytes = rows * 8192 * 2 + 4096.0 * 12800 * 2;
  EXPECT_NEAR(ratio(cost.hbm_per_tile * cost.tiles, 1_B) / bytes, 1, 1e-5);
}

TEST(Gemm, TheStoreOfTheLastTileShowsOnce) {
  Profile profile = with_gemm();
  profile.gpu.hbm = given(1_TBps);
  profile.gemm->drain = given(0.5);
  const GemmProblem problem{.m = 2560, .n = 1280, .k = 6400};
  const GemmCost cost = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
  EXPECT_EQ(cost.waves, 2);
  // Half of 128 x 128 elements of 2 bytes at a hundredth of the rate.
  EXPECT_EQ(cost.start, 3_us + Duration::from_ps(1'638'400));
}

Profile with_grid() {
  Profile profile = with_gemm();
  profile.gemm->tiles = {square_tile(128)};
  const auto row = [](std::int64_t m, Duration time) {
    return MeasuredProduct{m, time, 128, 128, 64, 4, 1, 1, 1};
  };
  profile.gemm->measured = {{GemmLibrary::cublaslt,
                             1280,
                             6400,
                             100,
                             {row(1280, 30_us), row(2560, 60_us)},
                             {SourceKind::measured, "test"}}};
  return profile;
}

TEST(GemmGrid, OnAMeasuredRowTheTimeIsTheMeasuredOne) {
  const Profile profile = with_grid();
  for (const auto& [m, time] : {std::pair{1280, 30_us}, {2560, 60_us}}) {
    const GemmCost cost = gemm_cost(profile, {.m = m, .n = 1280, .k = 6400}, SmBudget::of(100));
    EXPECT_NEAR(ratio(cost.time, time), 1, 1e-6) << m;
    EXPECT_EQ(cost.time, cost.start + cost.tile_time() * cost.waves);
  }
}

// Both rows are off by a factor of their own; between them it is the geometric mean, weighted by nearness.
TEST(GemmGrid, BetweenRowsTheRatioOfMeasuredOverModelledIsCarriedOver) {
  const Profile profile = with_grid();
  const auto modelled = [&](std::int64_t m) {
    return gemm_cost(profile, {.m = m, .n = 1280, .k = 6400}, SmBudget::of(100), square_tile(128))
        .time;
  };
  const double low = ratio(30_us, modelled(1280)), high = ratio(60_us, modelled(2560));
  const std::int64_t between = 1810;  // half an octave from both
  const GemmCost cost = gemm_cost(profile, {.m = between, .n = 1280, .k = 6400}, SmBudget::of(100));
  EXPECT_NEAR(ratio(cost.time, modelled(between)), std::sqrt(low * high), 1e-3);
}

TEST(GemmGrid, ElsewhereTheModelSpeaksAlone) {
  Profile bare = with_grid();
  const Profile grid = bare;
  bare.gemm->measured.clear();
  const auto same = [&](const GemmProblem& problem, std::int64_t sms) {
    return gemm_cost(grid, problem, SmBudget::of(sms)).time ==
           gemm_cost(bare, problem, SmBudget::of(sms)).time;
  };
  EXPECT_FALSE(same({.m = 1280, .n = 1280, .k = 6400}, 100));
  EXPECT_TRUE(same({.m = 1280, .n = 1280, .k = 6400}, 99));
  EXPECT_TRUE(same({.m = 1280, .n = 1280, .k = 6464}, 100));
  EXPECT_TRUE(
      same({.m = 6400, .n = 1280, .k = 6400}, 100));  // more than an octave beyond the last row
  EXPECT_TRUE(same({.m = 1280, .n = 1280, .k = 6400, .library = GemmLibrary::ours}, 100));
}

// 32 rows of a tile of 128 beyond the edge, at 2 ns a row, on the SM whose loads bind; a tile of 32 rows hangs over
// nothing. Of eleven waves over two rows of tiles the CTA that has most does six of such.
TEST(Gemm, RowsBeyondTheEdgeAreLoadedOneByOne) {
  Profile profile = with_gemm();
  profile.gemm->own = OwnGemmConstants{profile.gemm->start, profile.gemm->epilogue_exposed};
  profile.gpu.l2 = given(20_GBps);
  const auto added = [&](std::int64_t m, std::int64_t n, GemmLibrary library) {
    const GemmProblem problem{.m = m, .n = n, .k = 6400, .library = library};
    profile.gemm->overhang_row = given(Duration());
    const GemmCost without = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
    profile.gemm->overhang_row = given(Duration::from_ps(2'000));
    const GemmCost with = gemm_cost(profile, problem, SmBudget::of(100), square_tile(128));
    return ratio(with.main_loop - without.main_loop, Duration::from_ps(100 * 2'000));
  };
  EXPECT_NEAR(added(96, 12800, GemmLibrary::ours), 32, 0.01);
  EXPECT_NEAR(added(128, 12800, GemmLibrary::ours), 0, 0.01);
  EXPECT_NEAR(added(96, 12800, GemmLibrary::cublaslt), 0, 0.01);
  EXPECT_NEAR(added(224, 70400, GemmLibrary::ours), 32 * 6.0 / 11, 0.01);
}

// What follows others finds the controller settled, on a measured row as elsewhere.
TEST(GemmGrid, ARowIsOfAProductAlone) {
  Profile profile = with_grid();
  profile.gemm->sustained_clock = given(0.5);
  profile.gemm->answer = PowerAnswer{given(1.0), given(1_ms), given(0.5), given(1_us)};
  GemmProblem problem{.m = 1280, .n = 1280, .k = 6400};
  const SmBudget all = SmBudget::of(100);
  const auto price = [&] { return gemm_cost(profile, problem, all).time; };
  const auto modelled = [&] { return gemm_cost(profile, problem, all, square_tile(128)).time; };
  const Duration alone = price(), modelled_alone = modelled();
  problem.follows_others = true;
  EXPECT_NEAR(ratio(price(), alone), ratio(modelled(), modelled_alone), 1e-6);
  EXPECT_GT(price(), alone);
}

// A correction is one kernel's: twice the multiplications of its K step, and its own start.
TEST(GemmCorrection, IsOfItsKernelAlone) {
  Profile profile = with_gemm();
  const GemmProblem problem{.m = 1280, .n = 1280, .k = 6400};
  const auto cost = [&](std::int64_t edge) {
    return gemm_cost(profile, problem, SmBudget::of(100), square_tile(edge));
  };
  const GemmCost plain = cost(128), other = cost(64);
  profile.gemm->corrections = {
      {GemmLibrary::cublaslt, 128, 128, 1, 1, 1, 9, 2.0, 1.0, Duration(), 5_us, {}}};
  EXPECT_EQ(cost(128).main_loop, plain.main_loop * 2);
  EXPECT_EQ(cost(128).start, 5_us);
  EXPECT_EQ(cost(64).time, other.time);
}

}  // namespace
}  // namespace weft::model
