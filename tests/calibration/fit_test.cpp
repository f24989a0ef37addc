// SPDX-License-Identifier: Apache-2.0
// Fits of samples that were made from known constants: the constants come back, a row that is off is named, and
// what the samples cannot determine is refused with the suite that would measure it.
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "calibration/fit/fit_profile.hpp"
#include "calibration/fit/flag_fit.hpp"
#include "calibration/fit/measured_grid.hpp"
#include "calibration/fit/peer_fit.hpp"
#include "calibration/fit/product_sample.hpp"
#include "calibration/fit/undetermined.hpp"
#include "kernels/shapes/table.hpp"
#include "models/cost/tile_flags.hpp"
#include "models/profile/json.hpp"

namespace weft::calibration {
namespace {

/// Samples of one H200 and their observations.
class Measured {
 public:
  Sample& add(Case what, Duration time) {
    Sample sample;
    sample.what = std::move(what);
    sample.times = {time, time, time};
    samples_.push_back(std::move(sample));
    return samples_.back();
  }
  [[nodiscard]] std::vector<Observation> observations() const {
    std::vector<Observation> seen;
    for (const Sample& sample : samples_) {
      seen.push_back({&sample, &run_, false, static_cast<int>(seen.size())});
    }
    return seen;
  }
  std::deque<Sample>& samples() { return samples_; }

 private:
  Run run_{.program = "test",
           .started = {},
           .device = "NVIDIA H200",
           .devices = 1,
           .sms = 132,
           .driver = {},
           .cuda = {},
           .cublaslt = {},
           .nccl = {},
           .git = {}};
  std::deque<Sample> samples_;
};

/// The device of the shipped profile with constants that nobody fitted.
model::Profile truth() {
  model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  model::GemmConstants& g = *profile.gemm;
  g.start.value = Duration::from_ps(4'000'000);
  g.prologue.value = Duration::from_ps(600'000);
  g.step.value = Duration::from_ps(20'000);
  g.matrix_efficiency.value = 0.9;
  g.epilogue_exposed.value = 0.7;
  g.load_latency.value = Duration::from_ps(1'100'000);
  g.split_reduction.value = Duration::from_ps(1'500'000);
  g.overhang_row.value = Duration::from_ps(3'000);
  g.hbm_efficiency.value = 0.8;
  g.l2_efficiency.value = 0.9;
  g.sustained_clock.value = 0.85;
  g.power_exponent.value = 1.5;
  g.power_limited_clock.value = 0.75;
  g.own = {{Duration::from_ps(3'000'000), {}}, {0.5, {}}};
  g.corrections.clear();
  g.measured.clear();
  return profile;
}

Kernel ours(const kernels::shapes::Tile& tile) {
  Kernel kernel;
  kernel.name = "sm90_bf16_gemm";
  kernel.tile = {tile.m(), tile.n(), kernels::shapes::Tile::k()};
  kernel.cluster = {tile.cluster_m, tile.cluster_n};
  kernel.stages = tile.stages;
  kernel.split_k = tile.split_k;
  kernel.threads = tile.threads();
  return kernel;
}

Kernel theirs(const model::GemmTile& tile) {
  Kernel kernel;
  kernel.name = tile.overlaps_epilogue ? "nvjet_sm90_tst" : "nvjet_sm90_tst_coop";
  kernel.tile = {static_cast<int>(tile.tile_m), static_cast<int>(tile.tile_n),
                 static_cast<int>(tile.tile_k)};
  kernel.cluster = {static_cast<int>(tile.cluster_m), static_cast<int>(tile.cluster_n)};
  kernel.stages = static_cast<int>(tile.stages);
  kernel.threads = static_cast<int>(tile.threads);
  return kernel;
}

Case product_case(const std::string& library, Shape shape) {
  Case what;
  what.suite = "gemm";
  what.operation = "gemm";
  what.figure = "time";
  what.library = library;
  what.shape = shape;
  return what;
}

void add_product(Measured& measured, const model::Profile& profile, Case what, Kernel kernel) {
  kernel.grid =
      132 / (kernel.cluster[0] * kernel.cluster[1]) * kernel.cluster[0] * kernel.cluster[1];
  Sample& sample = measured.add(std::move(what), Duration::from_ps(1));
  sample.kernel = std::move(kernel);
  sample.times.assign(3, product_cost(profile, sample, true).time);
}

/// Every kernel of both libraries on products that are short and long, small and large, alone and back to back.
Measured products_of(const model::Profile& profile) {
  const Shape shapes[] = {{300, 1024, 512},   {128, 8192, 8192},  {1024, 4096, 8192},
                          {2048, 8192, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  Measured measured;
  for (const Shape& shape : shapes) {
    for (const auto& tile : kernels::shapes::tiles) {
      add_product(measured, profile, product_case("weft", shape), ours(tile));
    }
    for (const model::GemmTile& tile : profile.gemm->tiles) {
      add_product(measured, profile, product_case("cublaslt", shape), theirs(tile));
    }
    Case sustained = product_case("cublaslt", shape);
    sustained.suite = "gemm-sustained";
    add_product(measured, profile, sustained, theirs(profile.gemm->tiles.front()));
  }
  return measured;
}

TEST(ProductFit, FindsTheConstantsOfProductsThatObeyThem) {
  const model::Profile profile = truth();
  const Measured measured = products_of(profile);
  model::Profile start = profile;
  start.gemm->matrix_efficiency.value = 0.8;
  start.gemm->start.value = Duration::from_ps(6'000'000);
  start.gemm->l2_efficiency.value = 1.1;
  start.gemm->power_exponent.value = 1.0;
  const ProductFit fit = fit_products(start, measured.observations(), "made up");
  const model::GemmConstants& was = *profile.gemm;
  EXPECT_NEAR(fit.constants.matrix_efficiency.value / was.matrix_efficiency.value, 1, 0.02);
  EXPECT_NEAR(ratio(fit.constants.start.value, was.start.value), 1, 0.05);
  EXPECT_NEAR(ratio(fit.constants.own->start.value, was.own->start.value), 1, 0.05);
  EXPECT_NEAR(fit.constants.l2_efficiency.value / was.l2_efficiency.value, 1, 0.02);
  EXPECT_NEAR(fit.constants.sustained_clock.value / was.sustained_clock.value, 1, 0.02);
  EXPECT_EQ(fit.constants.matrix_efficiency.source.kind, model::SourceKind::fitted);
  EXPECT_TRUE(fit.outliers.empty());

  // What it says of products that it never saw.
  model::Profile fitted = profile;
  fitted.gemm = fit.constants;
  for (const Shape& shape : {Shape{3072, 5120, 5120}, Shape{512, 2048, 12288}}) {
    const model::GemmProblem problem{.m = shape.m, .n = shape.n, .k = shape.k};
    const auto budget = model::SmBudget::of(132);
    const model::GemmTile& tile = profile.gemm->tiles.front();
    EXPECT_NEAR(ratio(gemm_cost(fitted, problem, budget, tile).time,
                      gemm_cost(profile, problem, budget, tile).time),
                1, 0.01);
  }
}

TEST(ProductFit, NamesRowsThatAreOffAndThoseThatThrottled) {
  const model::Profile profile = truth();
  Measured measured = products_of(profile);
  Sample& odd = measured.samples()[7];
  for (Duration& time : odd.times) time = time * 2;
  Sample& hot = measured.samples()[30];
  hot.throttled = {0, 1};
  const ProductFit fit = fit_products(profile, measured.observations(), "made up");
  ASSERT_EQ(fit.outliers.size(), 1u);
  EXPECT_EQ(fit.outliers[0].label, product_label(odd));
  EXPECT_NEAR(fit.outliers[0].off, -0.5, 0.1);
  ASSERT_EQ(fit.throttled.size(), 1u);
  EXPECT_EQ(fit.throttled[0], product_label(hot));
  EXPECT_EQ(fit.rows, measured.samples().size() - 1);
  EXPECT_NEAR(fit.constants.matrix_efficiency.value / profile.gemm->matrix_efficiency.value, 1,
              0.02);
}

TEST(ProductFit, RefusesProductsOfOneLibraryAndSaysWhichSuiteToRun) {
  const model::Profile profile = truth();
  Measured measured = products_of(profile);
  std::erase_if(measured.samples(),
                [](const Sample& sample) { return sample.what.library == "weft"; });
  try {
    (void)fit_products(profile, measured.observations(), "made up");
    FAIL() << "constants of our kernels out of another library's products";
  } catch (const UndeterminedFit& refused) {
    EXPECT_NE(std::string(refused.what()).find("weft-measure gemm"), std::string::npos);
  }
}

// A kernel that multiplies a tenth slower than its extents say gets a correction of its own, and no other does.
TEST(KernelFit, FindsTheKernelThatIsSlowerThanItsExtentsSay) {
  model::Profile profile = truth();
  const model::GemmTile slow = *std::max_element(
      profile.gemm->tiles.begin(), profile.gemm->tiles.end(),
      [](const auto& a, const auto& b) { return a.tile_m * a.tile_n < b.tile_m * b.tile_n; });
  profile.gemm->corrections = {{model::GemmLibrary::cublaslt,
                                slow.tile_m,
                                slow.tile_n,
                                slow.cluster_m,
                                slow.cluster_n,
                                1,
                                6,
                                1.1,
                                1.0,
                                profile.gemm->prologue.value,
                                profile.gemm->start.value,
                                {}}};
  const Measured measured = products_of(profile);
  const ProductFit fit = fit_products(truth(), measured.observations(), "made up");
  int found = 0;
  for (const model::KernelCorrection& kernel : fit.constants.corrections) {
    const bool its = kernel.library == model::GemmLibrary::cublaslt &&
                     kernel.tile_m == slow.tile_m && kernel.tile_n == slow.tile_n &&
                     kernel.cluster_m == slow.cluster_m && kernel.cluster_n == slow.cluster_n;
    found += its ? 1 : 0;
    EXPECT_NEAR(kernel.step, its ? 1.1 : 1.0, 0.03) << kernel.tile_m << 'x' << kernel.tile_n;
  }
  EXPECT_EQ(found, 1);
}

TEST(MeasuredGrid, HoldsTheLibrarysOwnChoicesByRisingM) {
  const model::Profile profile = truth();
  Measured measured;
  for (const std::int64_t m : {4096, 1024, 2048}) {
    add_product(measured, profile, product_case("cublaslt", {m, 4096, 4096}),
                theirs(profile.gemm->tiles.front()));
    add_product(measured, profile, product_case("weft", {m, 4096, 4096}),
                ours(kernels::shapes::tiles[0]));
  }
  const auto grids = measured_grids(measured.observations(), "made up");
  ASSERT_EQ(grids.size(), 1u);
  EXPECT_EQ(grids[0].sms, 132);
  ASSERT_EQ(grids[0].rows.size(), 3u);
  EXPECT_EQ(grids[0].rows[0].m, 1024);
  EXPECT_EQ(grids[0].rows[2].m, 4096);
  EXPECT_EQ(grids[0].rows[1].time, measured.samples()[4].times[0]);
}

Case primitive(const std::string& operation, const std::string& direction,
               const std::string& variant) {
  Case what;
  what.suite = "primitives";
  what.operation = operation;
  what.direction = direction;
  what.variant = variant;
  what.figure = "time";
  return what;
}

Duration us(double micros) {
  return Duration::from_ps(std::llround(micros * 1e6));
}

TEST(PrimitiveFit, FindsStartsRatesAndFlagsOfPrimitivesThatObeyThem) {
  Measured measured;
  for (const std::int64_t bytes : {4096, 1 << 18, 1 << 20, 1 << 24, 1 << 28}) {
    Case copy = primitive("copy", "to_device", "chain");
    copy.bytes = bytes;
    measured.add(copy, us(4 + static_cast<double>(bytes) / 50e3));
  }
  for (const int ctas : {1, 2, 4, 8}) {
    Case copy = primitive("sm_copy", "to_device", "");
    copy.bytes = 1 << 28;
    copy.ctas = ctas;
    measured.add(copy, us((1 << 28) / std::min(20e3 * ctas, 51e3)));
  }
  measured.add(primitive("flag", "", ""), us(0.75));
  model::Profile profile = truth();
  const std::vector<Gap> gaps = fit_primitives(profile, measured.observations(), "made up");
  const auto& engine = profile.copy_engine(model::CopyPath::from_host);
  EXPECT_NEAR(ratio(engine.start.value, us(4)), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(engine.rate.value.bytes_per_second()) / 50e9, 1, 0.001);
  const auto& sms = profile.sm_copy(model::CopyPath::from_host);
  EXPECT_NEAR(static_cast<double>(sms.per_cta.value.bytes_per_second()) / 20e9, 1, 0.001);
  EXPECT_NEAR(static_cast<double>(sms.cap.value.bytes_per_second()) / 51e9, 1, 0.001);
  EXPECT_EQ(profile.control.signal_same_device.value, us(0.75));
  // What was not measured is named with its suite, and kept.
  std::string named;
  for (const Gap& gap : gaps) named += gap.what + " (" + gap.suite + "), ";
  EXPECT_NE(named.find("copy engine, to_host (primitives)"), std::string::npos) << named;
  EXPECT_NE(named.find("launch jitter (primitives)"), std::string::npos) << named;
  EXPECT_EQ(profile.copy_engine(model::CopyPath::to_host),
            truth().copy_engine(model::CopyPath::to_host));
}

TEST(PrimitiveFit, PeersAreASuiteOfTheirOwnThatOneGpuNeedNotHave) {
  Measured measured;
  for (const std::int64_t bytes : {4096, 1 << 20, 1 << 24, 1 << 28}) {
    Case pull = primitive("copy", "to_device", "chain");
    pull.suite = "peer-primitives";
    pull.bytes = bytes;
    measured.add(pull, us(7 + static_cast<double>(bytes) / 360e3));
  }
  Case flag = primitive("peer_flag", "", "");
  flag.suite = "peer-primitives";
  measured.add(flag, us(1.25));
  model::Profile profile = truth();
  const auto gaps_of_peers = [](const std::vector<Gap>& gaps) {
    return std::count_if(gaps.begin(), gaps.end(),
                         [](const Gap& gap) { return gap.suite == "peer-primitives"; });
  };
  const std::vector<Gap> gaps = fit_primitives(profile, measured.observations(), "made up");
  const auto& pulled = profile.copy_engine(model::CopyPath::from_peer);
  EXPECT_NEAR(ratio(pulled.start.value, us(7)), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(pulled.rate.value.bytes_per_second()) / 360e9, 1, 0.001);
  EXPECT_EQ(profile.control.signal_peer.value, us(1.25));
  EXPECT_EQ(profile.copy_engine(model::CopyPath::from_host),
            truth().copy_engine(model::CopyPath::from_host));
  EXPECT_EQ(gaps_of_peers(gaps), 3);  // pushes by engine, copies by SMs either way
  EXPECT_EQ(gaps_of_peers(fit_primitives(profile, {}, "made up")), 0);
}

// Waits that come 3 to 11 us after what they wait for, evenly: it is looked for every 8 us.
TEST(PrimitiveFit, TellsHowOftenAStreamLooksAgainByHowMuchLateWaitsVary) {
  Measured measured;
  Case late = primitive("stream_wait", "", "late");
  late.suite = "peer-waits";
  Sample& sample = measured.add(late, us(3));
  sample.times.clear();
  for (int i = 0; i <= 200; ++i) sample.times.push_back(us(3 + 8 * i / 200.0));
  Case there = primitive("stream_wait", "", "there");
  there.suite = "peer-waits";
  measured.add(there, us(2));
  model::Profile profile = truth();
  static_cast<void>(fit_primitives(profile, measured.observations(), "made up"));
  ASSERT_TRUE(profile.control.stream_poll.has_value());
  EXPECT_NEAR(ratio(profile.control.stream_poll->value, us(8)), 1, 0.01);
}

// Slots of 0.5 us and flags of 3 us, behind tiles of 4 and of 12 slots that lie in one chunk each, or in four.
TEST(TileFlags, AreFoundByWhatLiesBehindTiles) {
  model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  profile.control.tile_flag = {us(3), {}};
  profile.control.store_slot = {us(0.5), {}};
  Measured measured;
  for (const auto& [k, columns] :
       {std::pair(256, 128), std::pair(512, 192), std::pair(2048, 128)}) {
    for (const int chunks : {0, 1, 256}) {  // 0: the product alone
      Case what = primitive("gemm_rs", "", "");
      what.figure = chunks > 0 ? "A_s" : "A";
      what.library = "weft", what.backend = "host_link", what.schedule = "device_flag";
      what.transport = "copy_engine", what.shape = Shape{8192, 16 * columns, k};
      what.ranks = 2, what.chunks = chunks;
      Sample& sample = measured.add(what, us(100));
      sample.kernel = {.name = "gemm", .tile = {128, columns, 64}, .cluster = {2, 1}, .grid = 128};
      if (chunks == 0) continue;
      const model::GemmTile kernel = kernel_of(sample.kernel);
      const Duration behind = us(columns == 128 ? 2 : 6) + us(chunks == 256 ? 12 : 3);
      const Duration shown = model::shown_behind(profile, kernel, 1, behind);
      const Duration tile = product_cost(profile, sample, true).tile_time();
      sample.times = {us(100) + shown + model::exposed_behind(kernel, behind, tile) * 7};
    }
  }
  const model::ControlCosts fitted = fit_tile_flags(profile, measured.observations()).control;
  ASSERT_TRUE(fitted.tile_flag && fitted.store_slot);
  EXPECT_NEAR(ratio(fitted.tile_flag->value, us(3)), 1, 0.01);
  EXPECT_NEAR(ratio(fitted.store_slot->value, us(0.5)), 1, 0.01);
  EXPECT_EQ(fit_tile_flags(profile, {}), profile);
}

TEST(FitSamples, KeepsWhatNothingWasMeasuredOfAndNamesTheSuites) {
  const model::Profile start = truth();
  const FittedProfile fit = fit_samples(start, {}, "nothing");
  EXPECT_EQ(fit.profile, start);
  std::string named;
  for (const Gap& gap : fit.gaps) named += gap.suite + " ";
  for (const char* suite : {"gemm ", "primitives", "gemm-parts", "boundary", "tile-flags", "waits"})
    EXPECT_NE(named.find(suite), std::string::npos) << named << suite;
}

// CTAs of a product's own launch move 12 GB/s each inside a device, a piece takes 4 us; the product of their last piece
// comes after them. Gathers that hardly outlast their product say nothing.
TEST(PeerFit, FindsWhatMovesInsideADeviceInAProductsLaunch) {
  Measured measured;
  const auto add = [&](const char* figure, int k, int chunks, double micros) {
    Case what;
    what.suite = "virtual";
    what.operation = "ag_gemm";
    what.figure = figure;
    what.library = "weft";
    what.backend = "virtual_ranks";
    what.schedule = "device_flag";
    what.transport = "sm";
    what.shape = Shape{2048, 2048, k};
    what.ranks = 2;
    what.chunks = chunks;
    what.ctas = 4;
    Sample& sample = measured.add(what, Duration::from_ps(std::llround(micros * 1e6)));
    sample.kernel.tile = {128, 128, 64};
    sample.kernel.grid = 16;
  };
  for (const int k : {2048, 4096, 8192}) {
    for (const int chunks : {1, 2, 4}) {
      const double moved = 10 + 4.0 * chunks + 1024.0 * k * 2 / (4 * 12e9) * 1e6;
      add("A_s", k, chunks, 40);
      add("D", k, chunks, moved + 40.0 / (2 * chunks));
    }
    add("A_s", k, 8, 4000);
    add("D", k, 8, 4100);
  }
  const model::Profile fitted = fit_peer_links(truth(), measured.observations());
  const model::SmCopyCosts& inside = fitted.sm_copy(model::CopyPath::same_device);
  EXPECT_NEAR(static_cast<double>(inside.launch_per_cta->value.bytes_per_second()) / 12e9, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(inside.start->value.ps()) * 1e-6 / 4, 1, 0.05);
}

// Pieces of 3 us that write flags take 8: a flag's write waits until the copy is seen, and does so between peers only.
TEST(PeerFit, FindsWhatAFlagAddsToACopyFromAPeer) {
  Measured measured;
  for (const int k : {2048, 4096, 8192}) {
    for (const int chunks : {1, 4, 16}) {
      for (const bool flags : {false, true}) {
        Case what;
        what.suite = "peer-boundary";
        what.operation = "ag_gemm";
        what.figure = "B_s";
        what.library = "weft";
        what.backend = "peer_gpus";
        what.schedule = flags ? "device_flag" : "chunked";
        what.transport = "copy_engine";
        what.shape = Shape{2048, 2048, k};
        what.ranks = 2;
        what.chunks = chunks;
        const double micros = 20 + (flags ? 8 : 3) * chunks + 1024.0 * k * 2 / 300e9 * 1e6;
        measured.add(what, Duration::from_ps(std::llround(micros * 1e6)));
      }
    }
  }
  const model::Profile fitted = fit_peer_links(truth(), measured.observations());
  ASSERT_TRUE(fitted.control.stream_write_peers.has_value());
  EXPECT_NEAR(static_cast<double>(fitted.control.stream_write_peers->value.ps()) * 1e-6 / 5, 1,
              0.02);
  EXPECT_EQ(fitted.control.stream_write, truth().control.stream_write);
}

}  // namespace
}  // namespace weft::calibration
