// SPDX-License-Identifier: Apache-2.0
// The committed samples: whole, right, repeated often enough, and about what they are there to settle.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "calibration/sample/sample_file.hpp"

namespace weft::calibration {
namespace {

const std::filesystem::path kFolder = "calibration/samples/h200";

const SampleSet& committed() {
  static const SampleSet set = load_sample_tree(kFolder);
  return set;
}

/// Boundary, shape, library and back end: what a decision is about.
std::string decision_of(const Case& what) {
  return what.operation + "/" + what.library + "/" + what.backend + "/" +
         std::to_string(what.ranks.value_or(0)) + "/" + std::to_string(what.shape->m) + "x" +
         std::to_string(what.shape->n) + "x" + std::to_string(what.shape->k);
}

TEST(CommittedSamples, OfTwoGpusReadToo) {
  EXPECT_GE(load_sample_tree("calibration/samples/h200-x2").samples.size(), 1000u);
}

TEST(CommittedSamples, AreAtLeastTwoThousandUnderEightMegabytes) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) bytes += entry.file_size();
  EXPECT_LT(bytes, 8u << 20);
  EXPECT_GE(committed().samples.size(), 2000u);
}

TEST(CommittedSamples, KeepTwentyRepetitionsAndNameTheirRun) {
  for (const Sample& sample : committed().samples) {
    EXPECT_GE(sample.times.size(), 20u) << key(sample.what);
    const calibration::Run& run = committed().runs.at(static_cast<std::size_t>(sample.run));
    EXPECT_FALSE(run.driver.empty());
    EXPECT_FALSE(run.git.empty());
  }
}

TEST(CommittedSamples, WereCheckedWhereTheyComputeAnOutput) {
  for (const Sample& sample : committed().samples) {
    const std::string& figure = sample.what.figure;
    const std::string& operation = sample.what.operation;
    const bool product = operation == "gemm" || operation == "all_gather" ||
                         operation == "reduce_scatter" || operation == "all_reduce" ||
                         operation == "all_to_all";
    const bool whole = figure == "C" || figure == "D" || product;
    EXPECT_EQ(sample.check.has_value(), whole) << sample.what.suite << " " << figure;
  }
}

TEST(CommittedSamples, OneRunOfTheProgramMeasuresACaseOnce) {
  std::set<std::pair<int, std::string>> seen;
  for (const Sample& sample : committed().samples)
    EXPECT_TRUE(seen.insert({sample.run, key(sample.what)}).second) << key(sample.what);
}

TEST(CommittedSamples, HoldEveryFigureOfAFusedCell) {
  std::map<std::string, std::set<std::string>> figures;
  std::set<std::string> alone;  // cells whose product was asked for alone
  for (const Sample& sample : committed().samples) {
    if (sample.what.schedule.empty() || sample.what.schedule == "serial" || sample.what.pass)
      continue;
    Case cell = sample.what;
    cell.figure.clear();
    if (cell.suite == "tile-flags") alone.insert(key(cell));
    figures[key(cell)].insert(sample.what.figure);
  }
  const std::set<std::string> whole{"A_s", "B_s", "D"}, product{"A_s"};
  for (const auto& [cell, found] : figures)
    EXPECT_EQ(found, alone.contains(cell) ? product : whole) << cell;
}

TEST(CommittedSamples, DecideAtLeastThirtyCasesInThreeMoreRunsEach) {
  std::set<std::string> cases;
  std::map<std::string, std::set<int>> again;
  for (const Sample& sample : committed().samples) {
    if (sample.what.suite != "decision") continue;
    if (!sample.what.pass)
      cases.insert(decision_of(sample.what));
    else
      again[decision_of(sample.what)].insert(*sample.what.pass);
  }
  EXPECT_GE(cases.size(), 30u);
  for (const std::string& one : cases) EXPECT_EQ(again[one], (std::set<int>{1, 2, 3})) << one;
}

}  // namespace
}  // namespace weft::calibration
