// SPDX-License-Identifier: Apache-2.0
// Measured cases on the machine of their back end, the host link's constants out of transfers that obey them, and
// decisions whose truth is known.
#include <cmath>

#include <gtest/gtest.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/interference_fit.hpp"
#include "calibration/fit/link_fit.hpp"
#include "calibration/predict/beside.hpp"
#include "calibration/predict/predictor.hpp"
#include "models/profile/json.hpp"
#include "topologies/read_machine.hpp"

namespace weft::calibration {
namespace {

model::Profile h200() {
  return model::load_profile("configs/profiles/h200-sxm.json");
}
topology::MachineSpec machine() {
  return topology::read_machine(std::filesystem::path("configs/machines/h200x8.json")).spec;
}

Duration us(double micros) {
  return Duration::from_ps(static_cast<std::int64_t>(micros * 1e6));
}

Case boundary(const std::string& operation, const std::string& figure, int m, int k, int chunks) {
  Case what;
  what.suite = "decision";
  what.operation = operation;
  what.figure = figure;
  what.model = "llama3-70b";
  what.boundary = "qkv";
  what.library = "weft";
  what.backend = "host_link";
  what.transport = "copy_engine";
  what.schedule = figure == "C" ? "serial" : "chunked";
  what.shape = Shape{m, 2048, k};
  what.ranks = 2;
  what.chunks = chunks;
  what.margin = 0;
  return what;
}

std::vector<Observation> observed(const std::vector<Sample>& samples) {
  static const Run run{.program = "test",
                       .started = {},
                       .device = "NVIDIA H200",
                       .driver = {},
                       .cuda = {},
                       .cublaslt = {},
                       .nccl = {},
                       .git = {}};
  std::vector<Observation> seen;
  for (const Sample& sample : samples)
    seen.push_back({&sample, &run, false, static_cast<int>(seen.size())});
  return seen;
}

TEST(HostLinkFit, FindsTheConstantsOfTransfersThatObeyThem) {
  std::vector<Sample> samples;
  for (const int k : {2048, 4096, 8192}) {
    for (const int chunks : {1, 4, 16}) {
      Sample sample;
      sample.what = boundary("ag_gemm", "B_s", 2048, k, chunks);
      sample.times = {us(10 + 3.0 * chunks + 1024.0 * k * 2 / 50e9 * 1e6)};
      samples.push_back(sample);
    }
  }
  const model::Profile fitted = fit_host_link(h200(), observed(samples));
  const model::CopyEngineCosts& engine = fitted.copy_engine(model::CopyPath::from_host);
  EXPECT_NEAR(ratio(engine.start.value, us(3)), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(engine.rate.value.bytes_per_second()) / 50e9, 1, 0.001);
  EXPECT_EQ(engine.rate.source.kind, model::SourceKind::fitted);
  // Nothing was measured both ways.
  EXPECT_EQ(engine.duplex_rate, h200().copy_engine(model::CopyPath::from_host).duplex_rate);
}

TEST(HostLinkFit, KeepsAProfileThatNothingWasMeasuredOf) {
  EXPECT_EQ(fit_host_link(h200(), {}), h200());
}

Sample beside(const std::string& kind, const std::string& direction, int ctas, std::int64_t pace,
              double micros) {
  Sample sample;
  sample.what.operation = "gemm";
  sample.what.figure = "beside";
  sample.what.library = "weft";
  sample.what.backend = "host_link";
  sample.what.shape = Shape{4096, 4096, 4096};
  sample.what.sms = 108;
  sample.what.background = Background{kind, direction, "traffic_first", ctas, pace, 0};
  sample.times = {us(micros)};
  return sample;
}

TEST(Interference, IsWhatIsLeftOnceSpinningIsDividedOut) {
  const std::vector<Sample> samples = {
      beside("spin", "device", 8, 0, 110), beside("spin", "device", 16, 0, 120),
      beside("copy", "to_host", 8, 0, 660), beside("copy", "to_host", 16, 0, 1800),
      beside("copy", "to_host", 8, 48'000'000'000, 220)};
  const model::Profile fitted = fit_interference(h200(), observed(samples));
  const Background& free = *samples[2].what.background;
  Background paced = *samples[4].what.background;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, free), 6);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, *samples[3].what.background), 15);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, paced), 2);
  // Half of the bytes in flight count as half of the CTAs.
  paced.in_flight_bytes = traffic_in_flight / 2;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, paced), 1.5);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, *samples[0].what.background), 1);
}

TEST(Predictor, SerialIsItsPartsAndChunksHideCommunication) {
  Predictor predictor(machine(), h200());
  for (const std::string operation : {"ag_gemm", "gemm_rs"}) {
    const auto time = [&](const char* figure) {
      const auto predicted = predictor.predict(boundary(operation, figure, 8192, 8192, 4));
      EXPECT_TRUE(predicted.has_value()) << operation << " " << figure;
      return predicted->worst();
    };
    EXPECT_NEAR(ratio(time("C"), time("A") + time("B")), 1, 0.03) << operation;
    EXPECT_LT(time("D"), time("C")) << operation;
    EXPECT_GE(time("D"), time("A_s")) << operation;
  }
}

TEST(Predictor, ASlowerClockSlowsProductsAndNotTheLink) {
  Predictor predictor(machine(), h200());
  const Case product = boundary("ag_gemm", "A", 8192, 8192, 1);
  const Case transfer = boundary("ag_gemm", "B", 8192, 8192, 1);
  EXPECT_GT(predictor.predict(product, {}, 800)->worst(), predictor.predict(product)->worst());
  EXPECT_EQ(predictor.predict(transfer, {}, 800)->worst(), predictor.predict(transfer)->worst());
}

TEST(BoundaryDecisions, RegretIsThePicksTimeInTheSetThatWasMeasuredAgain) {
  std::vector<Sample> samples;
  const auto add = [&](const std::string& figure, int chunks, double micros) {
    for (int pass = 0; pass < 3; ++pass) {
      Sample sample;
      sample.what = boundary("ag_gemm", figure, 8192, 8192, chunks);
      if (pass > 0) sample.what.pass = pass;
      sample.times = {us(micros)};
      samples.push_back(sample);
    }
  };
  add("C", 1, 4000);
  for (const int chunks : {1, 2, 4, 8}) add("D", chunks, 1000 + 100 * chunks);
  DecisionRows rows;
  add_boundary_decisions(rows);
  const model::Profile profile = h200();
  const topology::MachineSpec on = machine();
  const std::vector<Observation> seen = observed(samples);
  const auto decisions = rows.front()->decide({profile, seen, &on}, seen);
  ASSERT_EQ(decisions.size(), 1U);
  // Every overlapped cell beats serial here, and whichever was picked costs 0, 1, 3 or 7 hundredths of 1100.
  EXPECT_TRUE(decisions[0].verdict_right.value_or(false));
  const double steps = decisions[0].regret * 11;
  EXPECT_NEAR(steps, std::round(steps), 1e-6);
  EXPECT_EQ(decisions[0].noise, 0);
}

}  // namespace
}  // namespace weft::calibration
