// SPDX-License-Identifier: Apache-2.0
// How far a pick may be off is what its own kind was off by, and says where it is unlike what was measured.
#include "models/planner/error_band.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedules/registry.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using namespace weft::literals;
using testing::HasSubstr;

ScheduleChoice in_four_chunks(const std::string& name) {
  const Schedule* schedule = find_schedule(name);
  EXPECT_NE(schedule, nullptr) << name;
  Knobs knobs(schedule->info().knobs);
  if (name == "chunked" || name == "device_flag") {
    knobs.set("chunks", std::int64_t{4});
    knobs.set("transport", std::string("copy_engine"));
  }
  return {schedule, knobs};
}

FamilyError error(const std::string& family, double low, double high) {
  FamilyError result;
  result.family = family;
  result.rows = 100;
  result.p95 = 0.2;
  result.low = low;
  result.high = high;
  result.source = {SourceKind::measured, "rows of " + family};
  return result;
}

class Band : public testing::Test {
 protected:
  static Site site(int ranks) {
    Site made = test_site("h200x8.json", ranks);
    FamilyError ours = error("chunked over NVLink, our kernels", 0.97, 1.02);
    FamilyError library = error("chunked over NVLink, cuBLASLt", 0.95, 1.04);
    FamilyError flags = error("device flags over NVLink", 0.9, 1.12);
    ours.ranks = library.ranks = flags.ranks = 2;
    ours.operations = library.operations = flags.operations = {"ag_gemm", "gemm_rs"};
    ours.transports = library.transports = flags.transports = {"copy_engine", "sm"};
    FamilyError collectives = error("NCCL on NVLink, 2..8 GPUs, >= 64 KiB", 1, 1);
    collectives.ranks = 8;
    made.profile.errors = {ours, library, flags, collectives,
                           error("GEMM, cuBLASLt, N and K never measured", 0.75, 1.03)};
    return made;
  }
  static ErrorBand of(const std::string& schedule, const Site& site, TensorFormat format = {}) {
    const Boundary boundary =
        make_boundary(BoundaryKind::ag_gemm, {4096, 4096, 4096}, format, site.ranks());
    return band_of(boundary, in_four_chunks(schedule), site);
  }
};

TEST_F(Band, IsThatOfTheSchedulesOwnRuns) {
  Site pair = site(2);
  EXPECT_EQ(of("chunked", pair).family, "chunked over NVLink, cuBLASLt");
  EXPECT_EQ(of("device_flag", pair).family, "device flags over NVLink");
  pair.products = GemmLibrary::ours;
  const ErrorBand ours = of("chunked", pair);
  EXPECT_EQ(ours.family, "chunked over NVLink, our kernels");
  EXPECT_EQ(ours.source.kind, SourceKind::measured);
  EXPECT_EQ(ours.least(100_us), 97_us);
  EXPECT_EQ(ours.most(100_us), 102_us);
  EXPECT_DOUBLE_EQ(ours.fraction(), 1 - 0.97);
}

// What has no interval has a size that 95 in 100 errors, predicted over measured, keep to; a sum lies in what its
// parts span.
TEST_F(Band, OfASerialPickIsWhatItsPartsSpan) {
  const ErrorBand serial = of("serial", site(2));
  EXPECT_THAT(serial.family, HasSubstr("GEMM, cuBLASLt"));
  EXPECT_THAT(serial.family, HasSubstr("NCCL on NVLink"));
  EXPECT_DOUBLE_EQ(serial.low, 0.75);
  EXPECT_DOUBLE_EQ(serial.high, 1 / 0.8);
  EXPECT_EQ(serial.source.kind, SourceKind::measured);
}

TEST_F(Band, OfPartsThatWereNotMeasuredIsAssumed) {
  Site pair = site(2);
  pair.profile.errors.pop_back();
  EXPECT_EQ(of("serial", pair).source.reference, "no product was measured");
  pair.profile.errors.pop_back();
  pair.profile.errors.push_back(error("library GEMM bf16", 0.9, 1.1));
  EXPECT_THAT(of("serial", pair).source.reference, HasSubstr("no collective of"));
}

TEST_F(Band, OfAnotherOperationMoverOrSettingIsAssumed) {
  const Site pair = site(2);
  const auto band = [&](BoundaryKind kind, const char* schedule, const char* knob,
                        const char* value) {
    ScheduleChoice pick = in_four_chunks(schedule);
    if (knob != nullptr) pick.knobs.set(knob, std::string(value));
    return band_of(make_boundary(kind, {4096, 4096, 4096}, {}, 2), pick, pair).source.reference;
  };
  EXPECT_EQ(band(BoundaryKind::gemm_a2a, "device_flag", nullptr, nullptr),
            "no gemm_a2a was measured");
  EXPECT_EQ(band(BoundaryKind::gemm_rs, "device_flag", "transport", "switch"),
            "no transport by switch was measured");
  EXPECT_EQ(band(BoundaryKind::gemm_rs, "nccl.serial", "registered", "window"),
            "no run of nccl.serial with these settings was measured");
}

TEST_F(Band, OfAScenarioUnlikeARunIsAssumed) {
  Scenario scenario;
  EXPECT_THAT(unlike_a_run(scenario), testing::IsEmpty());
  scenario.fidelity = sim::Fidelity::ideal;
  scenario.overrides.emplace_back();
  const auto unlike = unlike_a_run(scenario);
  ASSERT_EQ(unlike.size(), 2u);
  const Boundary boundary = make_boundary(BoundaryKind::ag_gemm, {4096, 4096, 4096}, {}, 2);
  EXPECT_EQ(band_of(boundary, in_four_chunks("chunked"), site(2), unlike).source.reference,
            "effects of a run are left out; parts of the machine are overridden");
}

TEST_F(Band, OfMoreRanksThanWereMeasuredIsAssumed) {
  const ErrorBand eight = of("chunked", site(8));
  EXPECT_EQ(eight.low, of("chunked", site(2)).low);
  EXPECT_EQ(eight.source.kind, SourceKind::assumed);
  EXPECT_EQ(eight.source.reference,
            "no more than 2 ranks were measured of chunked over NVLink, cuBLASLt");
}

TEST_F(Band, OfATypeThatWasNotMeasuredIsAssumed) {
  TensorFormat fp8;
  fp8.element = DType::fp8_e4m3;
  const ErrorBand band = of("chunked", site(2), fp8);
  EXPECT_EQ(band.fraction(), of("chunked", site(2)).fraction());
  EXPECT_EQ(band.source.kind, SourceKind::assumed);
  EXPECT_THAT(band.source.reference, HasSubstr("no product of fp8_e4m3 was measured"));
}

TEST_F(Band, OfAnothersScheduleIsWhatAllSpanAndAssumed) {
  const ErrorBand band = of("flux.ag_gemm", site(2));
  EXPECT_THAT(band.family, HasSubstr("device flags over NVLink"));
  EXPECT_DOUBLE_EQ(band.low, 0.75);
  EXPECT_DOUBLE_EQ(band.high, 1.25);
  EXPECT_EQ(band.source.kind, SourceKind::assumed);
  EXPECT_THAT(band.source.reference, HasSubstr("no run of flux.ag_gemm was measured"));
}

TEST_F(Band, IsUnknownWhereTheProfileWasNotTested) {
  Site untested = site(2);
  untested.profile.errors.clear();
  const ErrorBand band = of("chunked", untested);
  EXPECT_FALSE(band.known());
  EXPECT_EQ(band.source.kind, SourceKind::assumed);
}

TEST_F(Band, OfTheShippedProfileIsMeasuredForTwoRanks) {
  const Site shipped = test_site("h200x8.json", 2);
  for (const char* schedule : {"chunked", "device_flag", "serial"}) {
    const ErrorBand band = of(schedule, shipped);
    EXPECT_TRUE(band.known()) << schedule;
    EXPECT_EQ(band.source.kind, SourceKind::measured) << schedule << ": " << band.source.reference;
    EXPECT_LT(band.low, 1) << schedule;
    EXPECT_GT(band.high, 1) << schedule;
  }
}

TEST_F(Band, OfAPlanIsWhatItsPartsSpan) {
  EXPECT_FALSE(span_of({}).known());
  const Source measured{SourceKind::measured, "rows"}, guess{SourceKind::assumed, "unlike"};
  const ErrorBand one{0.99, 1.02, "one", measured}, two{0.95, 1.01, "two", measured};
  EXPECT_EQ(span_of({one, two}), (ErrorBand{0.95, 1.02, "one; two", measured}));
  EXPECT_EQ(span_of({one, {0.98, 1.01, "two", guess}}), (ErrorBand{0.98, 1.02, "one; two", guess}));
  ErrorBand untested;
  untested.source = guess;
  EXPECT_EQ(span_of({one, untested}).source, guess);
  EXPECT_EQ(span_of({span_of({one, two}), two, one}).family, "one; two");
}

// Products by the library and attention of the phase; each that was not measured is said.
TEST_F(Band, OfALayerOutsideItsBoundaries) {
  Site pair = site(2);
  const auto band = [&](Phase phase, DType type = DType::bf16) {
    return layer_band(pair.profile, phase, type);
  };
  EXPECT_EQ(band(Phase::prefill).source.reference, "no attention of prefill was measured");
  pair.profile.errors.push_back(error("decode attention bf16", 0.5, 2));
  pair.profile.errors.push_back(error("prefill attention bf16", 0.8, 1.3));
  EXPECT_EQ(band(Phase::prefill).source.kind, SourceKind::measured);
  EXPECT_DOUBLE_EQ(band(Phase::prefill).low, 0.75);
  EXPECT_DOUBLE_EQ(band(Phase::prefill).high, 1.3);
  EXPECT_DOUBLE_EQ(band(Phase::decode).high, 2);
  EXPECT_EQ(band(Phase::backward).source.reference, "no attention of backward was measured");
  EXPECT_EQ(band(Phase::prefill, DType::fp8_e4m3).source.reference,
            "no product of fp8_e4m3 was measured");
}

TEST_F(Band, OfAFamilyWithoutAUsableErrorIsUnknown) {
  Site pair = site(2);
  for (FamilyError& each : pair.profile.errors) each.low = each.high = 1, each.p95 = 1.5;
  EXPECT_FALSE(of("chunked", pair).known());
}

}  // namespace
}  // namespace weft::model
