// SPDX-License-Identifier: Apache-2.0
#include "kernels/measure/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "configs/reader/error.hpp"

namespace weft::kernels {
namespace {

using calibration::Case;
using testing::HasSubstr;

constexpr const char* kSuites[] = {"primitives",
                                   "gemm",
                                   "gemm-sms",
                                   "gemm-sustained",
                                   "interference",
                                   "boundary",
                                   "decision",
                                   "virtual",
                                   "collectives",
                                   "peer-boundary",
                                   "peer-collectives",
                                   "shared",
                                   "peer-decision",
                                   "peer-primitives",
                                   "peer-interference",
                                   "clusters",
                                   "nccl-processes",
                                   "nccl-beside",
                                   "peer-windows",
                                   "waits",
                                   "peer-waits",
                                   "peer-decision-families",
                                   "peer-boundary-families"};

Suite suite(const std::string& name) {
  return load_suite("configs/suites/" + name + ".json");
}

TEST(Suites, EveryOneLoadsAndAsksForSomething) {
  for (const char* name : kSuites) {
    const std::vector<Job> jobs = plan_jobs(suite(name));
    EXPECT_FALSE(jobs.empty()) << name;
    for (const Job& job : jobs) {
      EXPECT_FALSE(job.cases.empty()) << name;
      EXPECT_GE(job.repetitions, 20) << name;
      EXPECT_GT(job.estimated_seconds, 0) << name;
    }
  }
}

TEST(Suites, NoCaseIsAskedForTwice) {
  for (const char* name : kSuites) {
    std::set<std::string> keys;
    std::size_t cases = 0;
    for (const Job& job : plan_jobs(suite(name)))
      for (const Case& what : job.cases) {
        keys.insert(calibration::key(what));
        ++cases;
      }
    EXPECT_EQ(keys.size(), cases) << name;
  }
}

TEST(Suites, ModelsWithTokensOfTheirOwnAreMeasuredWithThose) {
  std::set<std::tuple<std::string, int, std::int64_t>> asked, planned;
  const Suite families = suite("peer-decision-families");
  for (const ShapeChoice& shape : families.shapes)
    for (const std::int64_t tokens : shape.tokens) asked.insert({shape.model, shape.tp, tokens});
  for (const Job& job : plan_jobs(families))
    for (const Case& what : job.cases) planned.insert({what.model, *what.tp, what.shape->m});
  EXPECT_EQ(planned, asked);
  Suite nowhere = families;
  nowhere.shapes.push_back({"nobody's", 2, {1'024}});
  EXPECT_THROW(static_cast<void>(plan_jobs(nowhere)), std::invalid_argument);
}

TEST(Suites, ShapesAreThoseOfTheModel) {
  const ModelShape llama{"llama3-70b", 8192, 28672, 64, 8, 128, true};
  const std::vector<ModelBoundary> all = boundaries_of(llama, 8);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].n, (8192 + 2 * 1024) / 8);
  EXPECT_EQ(all[1].k, 1024);
  EXPECT_EQ(all[2].n, 7168);
  EXPECT_EQ(all[2].operation, "ag_gemm");
  EXPECT_EQ(all[3].k, 3584);
  EXPECT_EQ(all[3].operation, "gemm_rs");
}

TEST(Suites, HeadsThatDoNotDivideLeaveTheirBoundariesOut) {
  const ModelShape odd{"odd", 1536, 4096, 12, 2, 128, true};
  for (const ModelBoundary& one : boundaries_of(odd, 8)) EXPECT_THAT(one.name, HasSubstr("mlp"));
}

TEST(Suites, FewerKeyHeadsThanRanksAreReplicated) {
  const ModelShape grouped{"grouped", 4096, 14336, 32, 2, 128, true};
  EXPECT_EQ(boundaries_of(grouped, 8)[0].n, 4096 / 8 + 2 * 128);
}

TEST(DecisionSuite, HasThirtyCasesAndEachItsWholeGrid) {
  const std::vector<Job> jobs = plan_jobs(suite("decision"));
  EXPECT_GE(jobs.size(), 30u);
  for (const Job& job : jobs) {
    const bool ours = job.cases.front().library == "weft";
    std::set<std::string> cells;
    int serial = 0;
    for (const Case& what : job.cases) {
      serial += what.figure == "C" ? 1 : 0;
      if (what.figure == "D") cells.insert(calibration::key(what));
      if (what.transport == "copy_engine") {
        EXPECT_EQ(what.margin.value_or(0), 0);
      }
      if (what.transport == "sm" && what.figure == "D") {
        EXPECT_GT(what.pace_bytes_per_second.value_or(0), 0);
        EXPECT_EQ(*what.ctas, *what.margin == 0 ? 8 : *what.margin);
      }
    }
    // 10 chunk counts x (copy engine + 5 margins); in one launch margin 0 is none of its own.
    EXPECT_EQ(cells.size(), ours ? 60u + 50u : 60u) << job.cases.front().model;
    EXPECT_EQ(serial, 2);
  }
}

TEST(BoundarySuite, CtasThatCrossAHostLinkAreHeldToItsPaceAndToItsLimitWhereBothWaysMeet) {
  Suite held = suite("boundary");
  held.tokens = {2'048};
  held.link_in_flight_bytes = 128 << 10;
  held.ctas = {8, 16};
  for (const Job& job : plan_jobs(held))
    for (const Case& what : job.cases) {
      const bool sm = what.transport == "sm";
      const bool meet = sm && what.schedule == "device_flag" && what.operation != "ag_gemm";
      // Half of the CTAs write and share the limit, as those that read do.
      const int each = meet ? (*what.ctas == 8 ? 32 << 10 : 16 << 10) : 0;
      EXPECT_EQ(what.in_flight_bytes.value_or(0), each) << calibration::key(what);
      EXPECT_EQ(what.pace_bytes_per_second.value_or(0) > 0, sm) << calibration::key(what);
    }
  for (const Job& job : plan_jobs(suite("peer-boundary")))
    for (const Case& what : job.cases) EXPECT_FALSE(what.in_flight_bytes.has_value());
}

TEST(BoundarySuite, OwnersTakeTurnsWhereWhatTheirTilesStoreIsSummedInTheLaunch) {
  Suite both = suite("peer-boundary");
  both.both_orders = true;
  for (const Job& job : plan_jobs(both)) {
    int turns = 0, summed = 0;
    for (const Case& what : job.cases) {
      turns += what.variant == "turns" ? 1 : 0;
      const bool inside =
          what.schedule == "device_flag" && what.transport == "sm" && what.variant != "epilogue";
      summed += inside && (what.operation == "gemm_rs" || what.operation == "gemm_ar") ? 1 : 0;
    }
    EXPECT_EQ(2 * turns, summed) << calibration::key(job.cases.front());
  }
}

TEST(DecisionSuite, SumsInTheEpilogueAreACellForEachChunkCountAndMover) {
  std::map<std::string, int> cells;
  Suite peers = suite("peer-decision");
  for (const Job& job : plan_jobs(peers))
    for (const Case& what : job.cases) {
      if (what.figure != "D" || what.schedule != "device_flag") continue;
      if (what.variant != "epilogue") continue;
      EXPECT_NE(what.operation, "ag_gemm");
      EXPECT_EQ(what.library, "weft");
      EXPECT_EQ(what.margin, 0) << calibration::key(what);
      EXPECT_FALSE(what.ctas.has_value()) << "tiles store and add by themselves";
      ++cells[what.operation + " " + std::to_string(what.shape->m) + " " +
              std::to_string(what.shape->n) + " " + std::to_string(what.shape->k) + " " +
              what.transport];
    }
  EXPECT_EQ(cells.size(), 2u * 8 * 2);
  for (const auto& [cell, count] : cells) EXPECT_EQ(count, static_cast<int>(peers.chunks.size()));
  // Over a host link CTAs of their own carry what tiles have made.
  Suite link = suite("decision");
  link.epilogue_sums = true;
  int carried = 0;
  for (const Job& job : plan_jobs(link))
    for (const Case& what : job.cases)
      if (what.variant == "epilogue" && what.transport == "sm") {
        EXPECT_EQ(what.margin.value_or(0) > 0, what.ctas.has_value());
        ++carried;
      }
  EXPECT_GT(carried, 0);
}

TEST(DecisionSuite, ThinChunksAreNotLegal) {
  Suite thin = suite("decision");
  thin.tokens = {256};
  for (const Job& job : plan_jobs(thin))
    for (const Case& what : job.cases) EXPECT_LE(what.chunks.value_or(1), 4);
}

TEST(Again, TakesTheBestCellsAndSerialOfEachCase) {
  calibration::SampleSet set;
  set.runs.push_back({});
  // One whose cells keep to a pace, to a limit, or to neither.
  const std::vector<Job> jobs = plan_jobs(suite("decision"));
  const Job& job = *std::find_if(jobs.begin(), jobs.end(), [](const Job& one) {
    return one.cases.front().operation == "gemm_rs" && one.cases.front().library == "weft";
  });
  int time = 100;
  for (const Case& what : job.cases) {
    calibration::Sample sample;
    sample.what = what;
    sample.times.assign(20, Duration::from_ps(1'000'000 * ++time));
    set.samples.push_back(sample);
  }
  const std::vector<Job> again = plan_again(set, 2, 10, {{"decision", 1}});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again.front().rest, 1);
  int serial = 0;
  int cells = 0;
  for (const Case& what : again.front().cases) {
    EXPECT_EQ(what.pass, 2);
    (what.figure == "C" ? serial : cells) += 1;
  }
  EXPECT_EQ(cells, 10);
  EXPECT_EQ(serial, 2);
}

TEST(SuiteFile, NamesWhatIsWrongInIt) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "bad.json";
  std::ofstream(file)
      << R"({"schema": "weft.suite/1", "kind": "gemm", "doc": "x", "tokens": [0], "colour": 1})";
  try {
    load_suite(file);
    FAIL() << "the file is wrong";
  } catch (const config::ConfigErrors& errors) {
    EXPECT_THAT(errors.what(), HasSubstr("/tokens"));
    EXPECT_THAT(errors.what(), HasSubstr("colour"));
  }
}

}  // namespace
}  // namespace weft::kernels
