// SPDX-License-Identifier: Apache-2.0
// The tables of `weft accuracy`: what may be fitted, how errors and regrets are summed up, and that a report
// of rows that may be fitted looks at no other.
#include "calibration/accuracy/report.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/accuracy/results.hpp"
#include "calibration/accuracy/rows.hpp"
#include "models/profile/json.hpp"
#include "topologies/read_machine.hpp"

namespace weft::calibration {
namespace {

Duration us(int count) {
  return Duration::from_ps(std::int64_t{1'000'000} * count);
}

Case product(int m, int n, int k, std::string model = "llama3-70b") {
  Case what;
  what.suite = "gemm";
  what.operation = "gemm";
  what.figure = "time";
  what.model = std::move(model);
  what.library = "weft";
  what.variant = "static";
  what.shape = Shape{m, n, k};
  return what;
}

SampleSet set_of_an_h200() {
  SampleSet set;
  set.runs.push_back({.program = "test",
                      .started = {},
                      .device = "NVIDIA H200",
                      .driver = {},
                      .cuda = {},
                      .cublaslt = {},
                      .nccl = {},
                      .git = {}});
  return set;
}

SampleSet products(int count) {
  SampleSet set = set_of_an_h200();
  for (int i = 0; i < count; ++i) {
    Sample sample;
    sample.what = product(1024 * (1 + i % 4), 1024 + 128 * (i / 4), 4096);
    sample.times = {us(100 + i)};
    sample.kernel.name = "sm90_bf16_gemm";
    sample.kernel.tile = {128, 224, 64};
    sample.kernel.cluster = {2, 1};
    sample.kernel.grid = 132;
    set.samples.push_back(sample);
  }
  return set;
}

TEST(SampleSplit, HoldsOutAFamilyATokenCountAndSharesByHash) {
  EXPECT_EQ(part_of(product(1024, 8192, 1024, "qwen3-32b"), false), Part::held_out);
  EXPECT_EQ(part_of(product(6144, 8192, 1024), false), Part::held_out);
  int held = 0, whole = 0;
  for (int n = 1; n <= 400; ++n) {
    int of_weights = 0;
    for (int m = 1; m <= 5; ++m) {
      of_weights += part_of(product(m * 1024, n * 128, 4096), false) == Part::held_out ? 1 : 0;
    }
    held += of_weights;
    whole += of_weights == 5 ? 1 : 0;
  }
  // A quarter of the weights as a whole, and a quarter of what is left: 7/16.
  EXPECT_NEAR(held / 2000.0, 7.0 / 16, 0.05);
  EXPECT_NEAR(whole / 400.0, 0.25, 0.07);
}

TEST(SampleSplit, IsOfTheShapeAlone) {
  Case a = product(2048, 8192, 3584), b = a;
  b.library = "cublaslt";
  b.suite = "decision";
  b.chunks = 8;
  EXPECT_EQ(part_of(a, false), part_of(b, false));
  EXPECT_EQ(fold_of(a, Grouping::by_weights), fold_of(b, Grouping::by_weights));
}

TEST(ErrorSummary, IsInFractionsOfTheMeasuredTime) {
  std::vector<Point> points;
  for (int i = 1; i <= 100; ++i) {
    points.push_back({"", us(1000 + i), us(1000), i});
  }
  const ErrorRow row = summarise_points({.name = "r", .median = {}, .p95 = {}}, points);
  EXPECT_EQ(row.n, 100);
  EXPECT_NEAR(row.median, 0.051, 1e-9);
  EXPECT_NEAR(row.p95, 0.095, 1e-9);
  EXPECT_NEAR(row.worst, 0.100, 1e-9);
  EXPECT_NEAR(row.bias, 0.0505, 1e-9);
}

TEST(DecisionSummary, PicksWithinTheNoiseAreExact) {
  const DecisionRow row = summarise_decisions(
      {.name = "d", .within_1pct = {}, .regret_mean = {}, .regret_p95 = {}, .regret_max = {}},
      {{"a", 0.004, 0.005, true},
       {"b", 0.008, 0.005, false},
       {"c", 0.030, 0.005, {}},
       {"d", 0.0, 0.005, true}});
  EXPECT_DOUBLE_EQ(row.exact, 0.5);
  EXPECT_DOUBLE_EQ(row.within_1pct, 0.75);
  EXPECT_DOUBLE_EQ(row.regret_max, 0.030);
  EXPECT_EQ(row.verdicts, 3);
  EXPECT_NEAR(row.verdict_right, 2.0 / 3, 1e-12);
}

// Own tiles that add what came are a form of a reduction that no schedule has: measured, and not taken for one that it has.
TEST(Evidence, LeavesOutFormsThatNoScheduleHas) {
  SampleSet set = set_of_an_h200();
  Sample sample;
  sample.what = product(4096, 8192, 3584);
  sample.what.variant = "best";
  sample.times = {us(400)};
  set.samples.push_back(sample);
  sample.what.schedule = "device_flag";
  for (const char* variant : {"", "epilogue"}) {
    sample.what.variant = variant;
    set.samples.push_back(sample);
  }
  std::vector<std::string> kept;
  const Evidence evidence = Evidence::of(std::move(set));
  for (const Observation& seen : evidence.of_gpu("h200")) kept.push_back(seen.what().variant);
  EXPECT_THAT(kept, testing::ElementsAre("best", ""));
}

// What sums rows at a boundary may leave them at their owners or share them.
TEST(BoundaryDecisions, TimesOfTwoOperationsAtOneBoundaryDoNotMix) {
  SampleSet set = set_of_an_h200();
  const auto add = [&set](const std::string& operation, bool serial, int time) {
    Sample sample;
    sample.what = product(4096, 8192, 3584);
    sample.what.variant.clear();
    sample.what.suite = "peer-decision";
    sample.what.boundary = "mlp_down";
    sample.what.operation = operation;
    sample.what.figure = serial ? "C" : "D";
    sample.what.backend = "peer_gpus";
    sample.what.transport = "copy_engine";
    sample.what.schedule = serial ? "serial" : "chunked";
    sample.what.tp = 8;
    sample.what.ranks = 2;
    if (!serial) sample.what.chunks = 2;
    sample.times = {us(time)};
    for (int pass = 0; pass < 4; ++pass) {
      if (pass > 0) sample.what.pass = pass;
      set.samples.push_back(sample);
    }
  };
  for (const bool serial : {false, true}) {
    add("gemm_rs", serial, serial ? 500 : 360);
    add("gemm_ar", serial, serial ? 580 : 420);
  }
  const Evidence evidence = Evidence::of(std::move(set));
  const std::vector<Observation> seen = evidence.of_gpu("h200");
  const auto machine = topology::read_machine("configs/machines/h200x8.json");
  const model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  for (const auto& row : decision_rows()) {
    if (row->claim().name != "NVLink, our kernels") continue;
    const auto decisions = row->decide({profile, seen, &machine.spec}, seen);
    // Only what leaves rows at their owners is predicted.
    ASSERT_EQ(decisions.size(), 1u);
    EXPECT_NE(decisions[0].label.find("gemm_rs"), std::string::npos) << decisions[0].label;
    EXPECT_EQ(decisions[0].noise, 0);
  }
}

// Neither the fits nor the rows of a leave-one-out report are shown a held-out sample, and no fold's fit is
// shown a sample of the fold.
TEST(Report, LeaveOneOutSeesNeitherHeldOutRowsNorItsOwn) {
  const model::Profile profile = model::load_profile("configs/profiles/h200-sxm.json");
  const Evidence evidence = Evidence::of(products(80));
  std::set<std::set<int>> folds_left;
  const Fit fit = [&](const model::Profile& start, const std::vector<Observation>& known) {
    std::set<int> folds;
    for (const Observation& seen : known) {
      EXPECT_EQ(part_of(seen.what(), seen.published), Part::fit);
      folds.insert(fold_of(seen.what(), Grouping::by_weights));
    }
    folds_left.insert(folds);
    return start;
  };
  const Report report = make_report(profile, evidence, fit, {.only = {"any SM count"}});
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_GT(report.errors[0].n, 30);
  EXPECT_LT(report.errors[0].n, 80);
  EXPECT_GT(folds_left.size(), 5u);
}

TEST(Report, EveryRowHasANameOfItsOwn) {
  std::set<std::string> names;
  for (const auto& row : error_rows()) EXPECT_TRUE(names.insert(row->claim().name).second);
  for (const auto& row : decision_rows()) EXPECT_TRUE(names.insert(row->claim().name).second);
}

TEST(Results, AFinalReportIsRecordedAndReadBack) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "weft_results";
  std::filesystem::remove_all(folder);
  Report report;
  report.split = Split::final;
  report.profile = "p";
  report.evidence = "0";
  report.errors.push_back(
      summarise_points({.name = "r", .median = 0.01, .p95 = {}}, {{"", us(102), us(100), 0}}));
  report.decisions.push_back(summarise_decisions(
      {.name = "d", .within_1pct = 0.9, .regret_mean = {}, .regret_p95 = {}, .regret_max = {}},
      {{"a", 0.004, 0.005, true}}));
  record_final(folder, report, {.date = "2026-01-02T03:04:05Z", .commit = "abc"});
  record_final(folder, report, {.date = "2026-01-03T03:04:05Z", .commit = "abd"});
  const FinalRecord record = load_final(folder);
  EXPECT_EQ(record.runs, 2);
  EXPECT_EQ(record.commit, "abd");
  ASSERT_EQ(record.report.errors.size(), 1u);
  EXPECT_DOUBLE_EQ(record.report.errors[0].median, 0.02);
  EXPECT_EQ(record.report.errors[0].claim.median, 0.01);
  EXPECT_FALSE(record.report.errors[0].claim.p95.has_value());
  const std::string text = markdown(record);
  EXPECT_NE(text.find("has been run 2 times"), std::string::npos);
  EXPECT_NE(text.find("| r | 1 | 2.0 % (1 %) |"), std::string::npos) << text;
}

// Put there what `weft accuracy --recorded` prints.
TEST(Results, TheReadmeShowsTheRecordedReport) {
  std::ifstream in("README.md");
  const std::string readme{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(readme.find(markdown(load_final("calibration/results"))), std::string::npos);
}

TEST(Evidence, NamesOfOneGpuAgree) {
  for (const char* name : {"NVIDIA H200", "h200_sxm__nccl.csv", "h200-sxm", "H200"}) {
    EXPECT_EQ(gpu_name(name), "h200") << name;
  }
}

}  // namespace
}  // namespace weft::calibration
