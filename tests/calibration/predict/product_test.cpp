// SPDX-License-Identifier: Apache-2.0
// Products of boundaries: what the engine makes of their prices, and what a repetition adds to them.
#include <gtest/gtest.h>

#include "calibration/accuracy/evidence.hpp"
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
  EXPECT_EQ(frames_of(seen).at({"host_link", "cublaslt"}), Duration::from_ps(7'000'000));
}

}  // namespace
}  // namespace weft::calibration
