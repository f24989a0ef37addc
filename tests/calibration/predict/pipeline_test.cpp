// SPDX-License-Identifier: Apache-2.0
// Measured cases on their back end's machine, constants out of transfers that obey them, decisions of known truth.
#include <cmath>

#include <gtest/gtest.h>

#include "calibration/accuracy/rows.hpp"
#include "calibration/fit/copies_fit.hpp"
#include "calibration/fit/interference_fit.hpp"
#include "calibration/fit/launch_fit.hpp"
#include "calibration/fit/link_fit.hpp"
#include "calibration/fit/peer_fit.hpp"
#include "calibration/fit/product_sample.hpp"
#include "calibration/fit/sum_fit.hpp"
#include "calibration/predict/beside.hpp"
#include "calibration/predict/predictor.hpp"
#include "models/cost/roofline.hpp"
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

// A piece takes 3 us, with a flag 5: a write takes 2. Where streams write flags and wait for them it takes 9 in place of
// 4: a wait takes 3.
TEST(HostLinkFit, TellsAStreamsWriteOfAFlagFromItsWait) {
  const model::Profile profile = h200();
  std::vector<Sample> samples;
  const auto add = [&](const char* operation, const char* schedule, int m, int chunks,
                       double micros) {
    Sample sample;
    sample.what = boundary(operation, "B_s", m, 2048, chunks);
    sample.what.schedule = schedule;
    sample.times = {us(micros)};
    samples.push_back(sample);
  };
  for (const int m : {2048, 4096, 8192}) {
    for (const int chunks : {1, 4, 16}) {
      const double bytes = m / 2 * 4096.0;
      const Duration sum = model::memory_cost(profile, Bytes::from(m / 2 * 4096 * 3),
                                              model::SmBudget::of(profile.gpu.sms.value))
                               .time;
      const double way = 10 + bytes / 50e9 * 1e6;
      const double both = way + static_cast<double>(sum.ps()) * 1e-6;
      add("ag_gemm", "chunked", m, chunks, way + 3 * chunks);
      add("ag_gemm", "device_flag", m, chunks, way + 5 * chunks);
      add("gemm_rs", "chunked", m, chunks, both + 4 * chunks);
      add("gemm_rs", "device_flag", m, chunks, both + 9 * chunks);
    }
  }
  const model::Profile fitted = fit_host_link(profile, observed(samples));
  EXPECT_NEAR(ratio(fitted.control.stream_write.value, us(2)), 1, 0.02);
  EXPECT_NEAR(ratio(fitted.control.stream_wait.value, us(3)), 1, 0.02);
}

// A product of 400 us, half of it on own rows, in 8 chunks of 50 more; 400 us of communication leave 4 launches beside
// it. CTAs cost 80 us by their slow-down of 1.25 and 24 more.
TEST(LaunchDelay, IsWhatCtasCostEachLaunchBeyondTheirSlowDown) {
  model::Profile profile = h200();
  profile.interference.clear();
  EXPECT_EQ(fit_launch_delay(profile, {}), profile);
  model::InterferenceTerm reads;
  reads.name = "reads below the link's rate";
  reads.access = model::InterferingAccess::read;
  reads.full_link = false;
  reads.points = {{8, {1.25, {}}}};
  profile.interference = {reads};
  std::vector<Sample> samples;
  const auto add = [&](int k, const char* transport, const char* figure, double micros) {
    Sample sample;
    sample.what = boundary("ag_gemm", figure, 4096, k, 8);
    sample.what.transport = transport;
    if (sample.what.transport == "sm") sample.what.margin = sample.what.ctas = 8;
    sample.times = {us(micros)};
    samples.push_back(sample);
  };
  for (int k = 1024; k <= 8192; k += 1024) {
    add(k, "copy_engine", "A", 400);
    for (const char* transport : {"copy_engine", "sm"}) {
      add(k, transport, "A_s", 600);
      add(k, transport, "B_s", 400);
    }
    add(k, "copy_engine", "D", 610);
    add(k, "sm", "D", 610 + 80 + 24);
  }
  const model::Profile fitted = fit_launch_delay(profile, observed(samples));
  ASSERT_TRUE(fitted.interference[0].launch.has_value());
  EXPECT_NEAR(ratio(fitted.interference[0].launch->value, us(6)), 1, 1e-6);
}

TEST(HostLinkFit, KeepsAProfileThatNothingWasMeasuredOf) {
  EXPECT_EQ(fit_host_link(h200(), {}), h200());
  EXPECT_EQ(fit_peer_links(h200(), {}), h200());
  EXPECT_EQ(fit_sums(h200(), {}), h200());
}

// 8 CTAs carry 200 GB/s and more of them 320; a piece takes 5 us. After its product a CTA moves 20 GB/s of partials and
// sums; where it only adds, a piece takes 3 us.
TEST(PeerFit, FindsTheConstantsOfTransfersAndSumsThatObeyThem) {
  std::vector<Sample> samples;
  const auto add = [&](const char* operation, int k, int chunks, int ctas, double micros,
                       const char* figure = "B_s") {
    Sample sample;
    sample.what = boundary(operation, figure, 2048, k, chunks);
    sample.what.backend = "peer_gpus";
    sample.what.schedule = "device_flag";
    sample.what.transport = "sm";
    sample.what.ctas = ctas;
    sample.what.shape->n = operation == std::string("gemm_rs") ? k : 2048;
    sample.times = {us(micros)};
    samples.push_back(sample);
  };
  for (const int k : {2048, 4096, 8192}) {
    for (const int chunks : {1, 4, 16}) {
      const double bytes = 1024.0 * k * 2;
      for (const int ctas : {8, 16, 32}) {
        add("ag_gemm", k, chunks, ctas,
            15 + 5.0 * chunks + bytes / (ctas == 8 ? 200e9 : 320e9) * 1e6);
        add("gemm_rs", k, chunks, ctas, 15 + 3.0 * chunks + 3 * bytes / (ctas * 25e9) * 1e6);
        if (chunks > 1) continue;
        add("gemm_rs", k, chunks, ctas, k / 10.0, "A_s");
        add("gemm_rs", k, chunks, ctas, k / 10.0 + 9 + 3 * bytes / (ctas * 20e9) * 1e6, "D");
      }
    }
  }
  const model::Profile fitted =
      fit_sums(fit_peer_links(h200(), observed(samples)), observed(samples));
  const model::SmCopyCosts& pulls = fitted.sm_copy(model::CopyPath::from_peer);
  EXPECT_NEAR(static_cast<double>(pulls.per_cta.value.bytes_per_second()) / 25e9, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(pulls.cap.value.bytes_per_second()) / 320e9, 1, 0.01);
  EXPECT_NEAR(ratio(pulls.start->value, us(5)), 1, 0.02);
  ASSERT_TRUE(fitted.sums.has_value());
  EXPECT_NEAR(static_cast<double>(fitted.sums->per_cta.value.bytes_per_second()) / 20e9, 1, 0.01);
  EXPECT_NEAR(ratio(fitted.sums->start.value, us(3)), 1, 0.02);
  // 32 CTAs were not held back together: the memory's own rate is what they would share.
  EXPECT_GT(fitted.sums->cap.value, fitted.sums->per_cta.value * 32);
}

// A boundary's product takes 7 us longer than the same product by itself; long ones and slow clocks say nothing.
TEST(Frames, AreWhatABoundarysProductTakesLonger) {
  std::vector<Sample> samples;
  const auto add = [&](const char* suite, int k, int mhz, double micros) {
    Sample sample;
    sample.what = boundary("ag_gemm", suite == std::string("gemm") ? "time" : "A", 2048, k, 1);
    sample.what.suite = suite;
    sample.conditions.sm_mhz = mhz;
    sample.times = {us(micros)};
    samples.push_back(sample);
  };
  for (int k = 1024; k <= 8192; k += 1024) {
    add("gemm", k, 1980, k / 100.0);
    add("decision", k, 1980, k / 100.0 + 7);
    add("decision", k, 1500, k / 50.0);
    add("gemm", k + 1, 1980, k);
    add("decision", k + 1, 1980, k + 100.0);
  }
  const Frames frames = frames_of(observed(samples));
  ASSERT_EQ(frames.size(), 3u);
  for (const char* suite : {"", "decision"})
    EXPECT_EQ(frames.at({"host_link", "weft", suite}), us(7));
  // Ranks on one device have its events.
  EXPECT_EQ(frames.at({"virtual_ranks", "weft", ""}), us(7));
  const Case product = boundary("ag_gemm", "A", 8192, 8192, 1);
  EXPECT_EQ(Predictor(machine(), h200(), frames).predict(product)->worst(),
            Predictor(machine(), h200()).predict(product)->worst() + us(7));
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
  std::vector<Sample> samples = {
      beside("spin", "device", 8, 0, 110), beside("spin", "device", 16, 0, 120),
      beside("copy", "to_device", 8, 0, 660), beside("copy", "to_device", 16, 0, 1800),
      beside("copy", "to_device", 8, 48'000'000'000, 220)};
  samples.push_back(beside("copy", "to_device", 8, 0, 165));
  samples.back().what.background->in_flight_bytes = traffic_in_flight / 2;
  const model::Profile fitted = fit_interference(h200(), observed(samples));
  const Background& free = *samples[2].what.background;
  const Background& paced = *samples[4].what.background;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, free, "weft"), 6);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, *samples[3].what.background, "weft"), 15);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, paced, "weft"), 2);
  // A window is a regime of its own, by what is outstanding: as many CTAs again with half of it each.
  Background windowed = *samples[5].what.background;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, windowed, "weft"), 1.5);
  windowed.ctas *= 2;
  windowed.in_flight_bytes /= 2;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, windowed, "weft"), 1.5);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, *samples[0].what.background, "weft"), 1);
}

model::GemmCost cost_of(const model::Profile& profile, const Sample& sample) {
  const Shape& s = *sample.what.shape;
  return model::gemm_cost(profile,
                          {.m = s.m, .n = s.n, .k = s.k, .library = model::GemmLibrary::ours},
                          model::SmBudget::of(sample.kernel.grid), kernel_of(sample.kernel), 1);
}

void ran_by(Sample& sample, int stages) {
  sample.kernel.tile = {128, 256, 64};
  sample.kernel.cluster = {2, 1};
  sample.kernel.stages = stages;
  sample.kernel.grid = 108;
  sample.kernel.threads = 384;
}

// Writes to the host make the latency of loads longer, once for each turn of a tile's stages: what was fitted from a
// product's time gives that time back, and with twice the stages there are half as many turns.
TEST(Interference, OfPostedWritesIsOfTurnsOfLoads) {
  std::vector<Sample> samples = {beside("spin", "device", 8, 0, 250),
                                 beside("copy", "to_host", 8, 0, 1000)};
  for (Sample& sample : samples) ran_by(sample, 3);
  const model::Profile fitted = fit_interference(h200(), observed(samples));
  const double slow = interference_factor(fitted, *samples[1].what.background, "weft");
  const Duration turns = time_of_turns(fitted, cost_of(fitted, samples[1]));
  EXPECT_NEAR(250 + static_cast<double>(turns.ps()) * 1e-6 * (slow - 1), 1000, 1e-3);
  const model::GemmCost cost = cost_of(fitted, samples[1]);
  const std::int64_t loads = cost.waves * cost.k_steps / 3;
  EXPECT_NEAR(ratio(turns, h200().gemm->load_latency.value), static_cast<double>(loads), 1);
  ran_by(samples[1], 6);
  EXPECT_NEAR(ratio(turns, time_of_turns(fitted, cost_of(fitted, samples[1]))), 2, 1e-6);
}

// A share that comes late runs past what holds back the others.
TEST(Interference, OfLateSharesIsNone) {
  std::vector<Sample> samples = {beside("spin", "device", 8, 0, 170),
                                 beside("spin", "device", 8, 0, 100),
                                 beside("copy", "to_device", 8, 0, 270)};
  samples[1].what.figure = "alone";
  samples[1].what.background.reset();
  const model::Profile fitted = fit_interference(h200(), observed(samples));
  EXPECT_DOUBLE_EQ(interference_factor(fitted, *samples[2].what.background, "weft"), 2);
}

// Traffic that comes second is among the product's SMs where these come in pairs, and in lone TPCs where they come in
// fours; beyond what was measured there it does no less than elsewhere.
TEST(Interference, OfTrafficThatComesSecondIsOfItsPlace) {
  std::vector<Sample> samples = {
      beside("spin", "device", 8, 0, 100),  beside("copy", "to_device", 8, 0, 200),
      beside("spin", "device", 8, 0, 100),  beside("copy", "to_device", 8, 0, 300),
      beside("spin", "device", 16, 0, 100), beside("copy", "to_device", 16, 0, 500)};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    ran_by(samples[i], 4);
    if (i == 2 || i == 3) samples[i].what.background->order = "gemm_first";
  }
  const model::Profile fitted = fit_interference(h200(), observed(samples));
  Background second = *samples[3].what.background;
  EXPECT_TRUE(is_among_products(second, 2));
  EXPECT_FALSE(is_among_products(second, 4));
  EXPECT_FALSE(is_among_products(*samples[1].what.background, 2));
  EXPECT_DOUBLE_EQ(interference_factor(fitted, second, "weft", true), 3);
  EXPECT_DOUBLE_EQ(interference_factor(fitted, second, "weft", false), 2);
  second.ctas = 16;
  EXPECT_DOUBLE_EQ(interference_factor(fitted, second, "weft", true), 5);
}

// 24 CTAs of which 8 find room move a third of their pace while the product runs, and all of it after its end.
TEST(Interference, TrafficThatComesSecondRunsOnTheSmsLeftFree) {
  const Background second{"copy", "to_device", "gemm_first", 24, 48'000'000'000, 0};
  const auto rate = [&](double product, std::int64_t free_sms) {
    return static_cast<double>(
               predict_traffic(h200(), second, us(product), free_sms)->bytes_per_second()) /
           1e9;
  };
  EXPECT_NEAR(rate(1e6, 8), 16, 0.1);
  EXPECT_NEAR(rate(0, 8), 48, 0.1);
  EXPECT_NEAR(rate(1e6, 24), 48, 1e-3);
}

TEST(CopiesBeside, AreTheMedianOverTheSameProductsAlone) {
  std::vector<Sample> samples;
  int sms = 100;
  for (const double slow : {1.01, 1.02, 1.03, 1.05, 1.20}) {
    samples.push_back(beside("copy_engine", "to_host", 0, 0, 200 * slow));
    samples.back().what.sms = ++sms;
    samples.push_back(samples.back());
    samples.back().what.figure = "alone";
    samples.back().what.background.reset();
    samples.back().times = {us(200)};
  }
  // Copies within the device share its memory, which is another matter.
  samples.push_back(beside("copy_engine", "device", 0, 0, 400));
  samples.back().what.sms = sms;
  const model::Profile fitted = fit_copies_beside(h200(), observed(samples));
  const model::InterferenceTerm& term = fitted.interference.back();
  EXPECT_EQ(term.access, model::InterferingAccess::engine_copy);
  EXPECT_NEAR(term.points.at(0).slow_down.value, 1.03, 1e-9);
  EXPECT_NEAR(term.slow_down.value, 1.06, 1e-9);  // both ways at once
  EXPECT_FALSE(term.round_trip.has_value());
  EXPECT_EQ(fit_copies_beside(h200(), {}), h200());
  // A kernel's post beside copies, 3 us later than beside none: a round trip behind what they read.
  for (const auto& [variant, time] : {std::pair("none", 2.5), std::pair("none_beside_both", 5.5)}) {
    samples.emplace_back();
    Case& what = samples.back().what;
    what.suite = "waits", what.operation = "stream_wait", what.transport = "sm";
    what.variant = variant;
    samples.back().times = {us(time)};
  }
  const model::Profile waited = fit_copies_beside(h200(), observed(samples));
  ASSERT_TRUE(waited.interference.back().round_trip.has_value());
  EXPECT_EQ(waited.interference.back().round_trip->value, us(3));
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

TEST(Predictor, PeersAreDevicesOfANodeAndFasterThanTheHost) {
  Predictor predictor(machine(), h200());
  Case host = boundary("ag_gemm", "B", 8192, 8192, 1);
  Case peer = host;
  peer.backend = "peer_gpus";
  EXPECT_EQ(predictor.site_of(host).running(), 1);
  EXPECT_EQ(predictor.site_of(peer).running(), 2);
  EXPECT_EQ(predictor.site_of(peer).built.machine.devices.size(), 2u);
  EXPECT_LT(predictor.predict(peer)->worst(), predictor.predict(host)->worst());
  peer.backend = "none that there is";
  EXPECT_FALSE(predictor.predict(peer).has_value());
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
