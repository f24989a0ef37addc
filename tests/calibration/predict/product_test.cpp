// SPDX-License-Identifier: Apache-2.0
// Products of boundaries: what the engine makes of their prices, and what a repetition adds to them.
#include <gtest/gtest.h>

#include "calibration/accuracy/evidence.hpp"
#include "calibration/fit/behind_fit.hpp"
#include "calibration/predict/frame.hpp"
#include "calibration/predict/predictor.hpp"
#include "models/profile/json.hpp"
#include "topologies/read_machine.hpp"

namespace weft::calibration {
namespace {

Predictor predictor() {
  return {topology::read_machine(std::filesystem::path("configs/machines/h200x8.json")).spec,
          model::load_profile("configs/profiles/h200-sxm.json")};
}

Case product(const std::string& library, const Shape& shape) {
  Case what;
  what.suite = "decision";
  what.operation = "ag_gemm";
  what.figure = "A";
  what.library = library;
  what.backend = "host_link";
  what.transport = "copy_engine";
  what.schedule = "chunked";
  what.shape = shape;
  what.ranks = 2;
  return what;
}

// A wave and a part of one that only read weights; parts of K on fewer SMs than there are; many waves.
TEST(ProductInTheEngine, AloneTakesItsPrice) {
  Predictor engine = predictor();
  for (const char* library : {"weft", "cublaslt"}) {
    for (const Shape& shape : {Shape{64, 28672, 8192}, Shape{128, 53248, 16384},
                               Shape{64, 1280, 8192}, Shape{4096, 4096, 4096}}) {
      const Case what = product(library, shape);
      const model::Site& site = engine.site_of(what);
      const model::GemmCost& price = site.prices->gemm(
          {.m = shape.m, .n = shape.n, .k = shape.k, .library = site.products}, site.sms(0, 0));
      EXPECT_NEAR(ratio(engine.predict(what)->worst(), price.time), 1, 1e-3)
          << library << " " << shape.m << " " << shape.n << " " << shape.k << ": " << price.choice;
    }
  }
}

constexpr Duration microsecond = Duration::from_ps(1'000'000);

// Eight pieces of what is moved, and the own shard: eight launches are behind another.
Duration in_eight_chunks(Case what, const model::BehindAnother& behind) {
  model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  profile.gemm->behind = profile.gemm->own->behind = behind;
  Predictor engine{
      topology::read_machine(std::filesystem::path("configs/machines/h200x8.json")).spec, profile};
  what.chunks = 8;
  return engine.predict(what)->worst();
}

model::Sourced<Duration> taken(Duration time) {
  return {time, {model::SourceKind::assumed, "test"}};
}

TEST(ProductInTheEngine, EachLaunchBehindAnotherTakesWhatTheProfileSays) {
  for (const char* library : {"weft", "cublaslt"}) {
    Case what = product(library, {4096, 4096, 2048});
    what.operation = "gemm_rs";
    what.figure = "A_s";
    const Duration three = in_eight_chunks(what, {taken(microsecond * 3)});
    EXPECT_EQ(three - in_eight_chunks(what, {taken(Duration())}), microsecond * 24) << library;
    // 17 MB of W stay in the L2.
    model::BehindAnother kept{taken(microsecond * 3)};
    kept.kept = taken(microsecond);
    EXPECT_EQ(three - in_eight_chunks(what, kept), microsecond * 8) << library;
  }
}

// The pieces of a gather wait for an event each, where there is something to wait for.
TEST(ProductInTheEngine, EachWaitBetweenTwoLaunchesTakesWhatTheProfileSays) {
  for (const char* library : {"weft", "cublaslt"}) {
    Case what = product(library, {8192, 8192, 8192});
    what.backend = "peer_gpus";
    model::BehindAnother one{taken(microsecond)}, two{taken(microsecond)};
    one.waits = taken(microsecond);
    two.waits = taken(microsecond * 2);
    what.figure = "D";
    EXPECT_EQ(in_eight_chunks(what, two) - in_eight_chunks(what, one), microsecond * 8) << library;
    what.figure = "A_s";
    EXPECT_EQ(in_eight_chunks(what, two), in_eight_chunks(what, one)) << library;
  }
}

// Pieces at their prices alone, less an event each, and so much of each launch behind another: the fit finds these.
TEST(BehindFit, FindsWhatEachLaunchTakes) {
  model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  const Duration frame = microsecond * 5, cold = Duration::from_ps(900'000);
  const Duration kept = Duration::from_ps(500'000);
  profile.gemm->behind.reset();
  profile.gemm->own->behind.reset();
  std::vector<Sample> samples;
  const auto add = [&](Case what, Duration time) {
    Sample sample;
    sample.what = std::move(what);
    sample.kernel.name = "kernel";
    sample.conditions.sm_mhz = 1980;
    sample.times = {time};
    samples.push_back(std::move(sample));
  };
  const model::SmBudget all = model::SmBudget::of(profile.gpu, profile.gpu.sms.value);
  // W of 19 to 30 MB stays in the L2, of 57 to 92 MB not.
  const auto add_products = [&](std::int64_t n, Duration behind) {
    for (std::int64_t k = 4608; k < 7680; k += 256) {
      Case what = product("weft", {2048, n, k});
      add(what, microsecond * 100 + frame);
      what.suite = "gemm";
      what.figure = "time";
      add(what, microsecond * 100);
      model::GemmProblem piece{.m = 1024, .n = n, .k = k, .library = model::GemmLibrary::ours};
      piece.follows_others = true;
      Duration alone = model::gemm_cost(profile, piece, all).time;
      piece.m = 128;
      alone += model::gemm_cost(profile, piece, all).time * 8;
      what = product("weft", {2048, n, k});
      what.figure = "A_s";
      what.operation = "gemm_rs";
      what.chunks = 8;
      add(what, frame + alone - (profile.control.event_hop.value - behind) * 8);
    }
  };
  add_products(6144, cold);
  add_products(2048, cold - kept);
  const calibration::Run measured{};
  std::vector<Observation> seen;
  for (const Sample& sample : samples) seen.push_back({&sample, &measured, false, 0});
  const model::Profile fitted = fit_behind(profile, seen);
  ASSERT_TRUE(fitted.gemm->own->behind && fitted.gemm->own->behind->kept);
  EXPECT_NEAR(ratio(fitted.gemm->own->behind->time.value, cold), 1, 1e-4);
  EXPECT_NEAR(ratio(fitted.gemm->own->behind->kept->value, kept), 1, 1e-4);
  EXPECT_FALSE(fitted.gemm->own->behind->time_peers);
  EXPECT_FALSE(fitted.gemm->own->behind->waits);
  EXPECT_FALSE(fitted.gemm->behind);
}

// A boundary runs the library's first kernel, and the best of many is 3 us quicker: the frame is over the first.
TEST(Frames, AreOverProductsOfTheSameKernel) {
  std::vector<Sample> samples;
  const auto add = [&](const char* figure, const char* kernel, std::int64_t k, double micros) {
    Sample sample;
    sample.what = product("cublaslt", {2048, 2048, k});
    sample.what.figure = figure;
    sample.what.suite = figure == std::string("time") ? "gemm" : "decision";
    sample.kernel.name = kernel;
    sample.conditions.sm_mhz = 1980;
    sample.times = {Duration::from_ps(static_cast<std::int64_t>(micros * 1e6))};
    samples.push_back(sample);
  };
  for (std::int64_t k = 1024; k <= 8192; k += 1024) {
    const double first = static_cast<double>(k) / 100;
    add("time", "first", k, first);
    add("time", "best", k, first - 3);
    add("A", "first", k, first + 7);
  }
  const calibration::Run measured{};
  std::vector<Observation> seen;
  for (const Sample& sample : samples) seen.push_back({&sample, &measured, false, 0});
  EXPECT_EQ(frames_of(seen).at({"host_link", "cublaslt", ""}), Duration::from_ps(7'000'000));
}

}  // namespace
}  // namespace weft::calibration
