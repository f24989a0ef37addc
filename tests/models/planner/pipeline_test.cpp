// SPDX-License-Identifier: Apache-2.0
// The textbook pipeline and the published claims, from the scenario files that weft ships.
//
// n chunks of c compute and m communication: serial n (c + m); chunked c + (n - 1) max(c, m) + m, the first
// chunk's compute and the last one's communication having nothing to hide under; independent max(n c, n m).
#include "models/planner/pipeline.hpp"

#include <algorithm>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/planner/read_scenario.hpp"

namespace weft::model {
namespace {

using testing::HasSubstr;

PipelineScenario shipped(const std::string& name) {
  return std::get<PipelineScenario>(read_scenario("configs/scenarios/" + name + ".json").what);
}

Duration us(std::int64_t microseconds) {
  return Duration::from_ps(microseconds * 1'000'000);
}

ClaimFinding finding(const std::string& scenario, const std::string& name) {
  const std::vector<ClaimFinding> all = examine(shipped(scenario).claim.value());
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ClaimFinding& each) { return each.name == name; });
  return found == all.end() ? ClaimFinding{} : *found;
}

// 4 (3 + 2) = 20; 3 + 3 max(3, 2) + 2 = 14; (20 - 14) / 20 = 30 %.
TEST(Pipeline, FourChunksOf3And2TakeFourteenInsteadOfTwentyMilliseconds) {
  const Figures figures = pipeline_figures(shipped("pipeline-4x3ms-2ms"));
  EXPECT_EQ(figures.compute_only, us(12'000));
  EXPECT_EQ(figures.communication_only, us(8'000));
  EXPECT_EQ(figures.serial, us(20'000));
  EXPECT_EQ(figures.overlapped, us(14'000));
  EXPECT_EQ(figures.exposed(), us(2'000));
  EXPECT_DOUBLE_EQ(1 - 1 / figures.speedup().value(), 0.3);
}

// 4 (1 + 5) = 24; 1 + 3 max(1, 5) + 5 = 21.
TEST(Pipeline, FourChunksOf1And5TakeTwentyOneInsteadOfTwentyFourMilliseconds) {
  const Figures figures = pipeline_figures(shipped("pipeline-4x1ms-5ms"));
  EXPECT_EQ(figures.serial, us(24'000));
  EXPECT_EQ(figures.overlapped, us(21'000));
}

// The formula, whichever side is longer and whichever comes first.
TEST(Pipeline, TakesFirstPlusStepsPlusLast) {
  for (const std::int64_t chunks : {1, 2, 3, 7, 32}) {
    for (const std::int64_t compute : {1, 4, 9}) {
      for (const std::int64_t communication : {1, 4, 10}) {
        PipelineScenario pipeline;
        pipeline.chunks = chunks;
        pipeline.compute = us(compute);
        pipeline.communication = us(communication);
        for (const bool first : {false, true}) {
          pipeline.communication_first = first;
          const Figures figures = pipeline_figures(pipeline);
          const std::int64_t step = std::max(compute, communication);
          EXPECT_EQ(figures.overlapped, us(compute + (chunks - 1) * step + communication));
          EXPECT_EQ(figures.serial, us(chunks * (compute + communication)));
        }
        pipeline.communication_first = false;
        pipeline.dependency = PipelineScenario::Dependency::none;
        EXPECT_EQ(pipeline_figures(pipeline).overlapped,
                  us(chunks * std::max(compute, communication)));
      }
    }
  }
}

// Built, run and recorded in steps that grow with the chunks: with their square this would not end.
TEST(Pipeline, ThirtyThousandChunksTakeFirstPlusStepsPlusLast) {
  PipelineScenario s;
  s.chunks = 30'000;
  s.compute = us(3);
  s.communication = us(2);
  const Figures figures = pipeline_figures(s);
  EXPECT_EQ(figures.overlapped, us(3 * 30'000 + 2));
  EXPECT_EQ(figures.serial, us(5 * 30'000));
}

// max(100, 60) = 100: everything hidden, 160 / 100 = 1.6.
TEST(Pipeline, IndependentSidesTakeTheLongerOne) {
  const Figures figures = pipeline_figures(shipped("independent-100us-60us"));
  EXPECT_EQ(figures.overlapped, us(100));
  EXPECT_EQ(figures.exposed(), Duration());
  EXPECT_DOUBLE_EQ(figures.hidden_ratio().value(), 1);
  EXPECT_DOUBLE_EQ(figures.covered_ratio, 1);
  EXPECT_DOUBLE_EQ(figures.speedup().value(), 1.6);
}

// Compute takes 150 us beside communication: 150 - 100 = 50 exposed, 1 - 50 / 60 = 16.7 % hidden, 160 / 150 = 1.067,
// while a timeline shows the communication covered from end to end.
TEST(Pipeline, ContentionLeavesOneSixthHiddenUnderFullCover) {
  const Figures figures = pipeline_figures(shipped("contended-150us-60us"));
  EXPECT_EQ(figures.overlapped, us(150));
  EXPECT_EQ(figures.serial, us(160));
  EXPECT_EQ(figures.exposed(), us(50));
  EXPECT_DOUBLE_EQ(figures.covered_ratio, 1);
  EXPECT_NEAR(figures.hidden_ratio().value(), 1.0 / 6, 1e-12);
  EXPECT_NEAR(figures.speedup().value(), 16.0 / 15, 1e-12);
}

// 12.4 ms (1 - 0.38) = 7.688 ms of compute: more than the 7.1 ms claimed.
TEST(Claim, OverlapAloneCannotGoUnderComputeAlone) {
  const std::string name = "claim-llama65b-ascend910";
  EXPECT_EQ(pipeline_figures(shipped(name)).compute_only, us(7'688));
  EXPECT_EQ(pipeline_figures(shipped(name)).serial, us(12'400));
  EXPECT_THAT(finding(name, "compute_alone").sentence, HasSubstr("compute alone is 7.69 ms"));
  const ClaimFinding bound = finding(name, "overlap_bound");
  EXPECT_FALSE(bound.holds);
  EXPECT_THAT(bound.sentence, HasSubstr("7.1 ms is under the 7.69 ms"));
  EXPECT_THAT(bound.sentence, HasSubstr("cannot come from overlap alone"));
}

// 0.55 x 12.4 = 6.82 and 0.89 x 7.1 = 6.319: the products themselves got faster.
TEST(Claim, MatrixUnitsWereBusyForLessTime) {
  const ClaimFinding busy = finding("claim-llama65b-ascend910", "matrix_busy");
  EXPECT_FALSE(busy.holds);
  EXPECT_THAT(busy.sentence, HasSubstr("6.82 ms of 12.4 ms"));
  EXPECT_THAT(busy.sentence, HasSubstr("6.32 ms of 7.1 ms"));
}

// 1 + 0.73 = 1.73 and 12.4 / 7.1 = 1.746 are one gain, said twice.
TEST(Claim, MoreTokensIsTheSameGain) {
  const ClaimFinding throughput = finding("claim-llama65b-ascend910", "throughput");
  EXPECT_TRUE(throughput.holds);
  EXPECT_THAT(throughput.sentence, HasSubstr("1.73x"));
  EXPECT_THAT(throughput.sentence, HasSubstr("1.746x"));
  EXPECT_THAT(throughput.sentence, HasSubstr("not an extra one"));
}

// 12 ms (1 - 0.4) = 7.2 ms > 7 ms.
TEST(Claim, TwelveToSevenMillisecondsIsUnderItsBound) {
  const ClaimFinding bound = finding("claim-12ms-7ms", "overlap_bound");
  EXPECT_FALSE(bound.holds);
  EXPECT_THAT(bound.sentence, HasSubstr("7 ms is under the 7.2 ms"));
  EXPECT_EQ(pipeline_figures(shipped("claim-12ms-7ms")).serial, us(12'000));
}

// A claim that perfect overlap can explain is not called wrong.
TEST(Claim, WithinTheBoundHolds) {
  Claim claim = shipped("claim-12ms-7ms").claim.value();
  claim.fused = us(7'200);
  for (const ClaimFinding& each : examine(claim)) EXPECT_TRUE(each.holds) << each.sentence;
}

}  // namespace
}  // namespace weft::model
