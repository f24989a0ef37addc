// SPDX-License-Identifier: Apache-2.0
// What a model sends, in each phase and layout.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/models/workloads/models.hpp"
#include "tests/models/workloads/story.hpp"

namespace weft::model {
namespace {

using test::gpt;
using test::layer_of;
using test::llama3_70b;
using test::op_of;
using test::spec_of;
using test::story;
using Lines = std::vector<std::string>;

TEST(Block, TwoAllReducesForwardAndTwoBackwardWhateverTheRanks) {
  for (const int tp : {2, 4, 8, 16}) {
    const ParallelLayout layout{tp, false, 1};
    const Workload forward = build_workload(gpt(), layout, spec_of(Phase::forward, 1, 2048));
    EXPECT_EQ(story(layer_of(forward, "block")),
              (Lines{"proj: all_reduce, proj produces", "fc2: all_reduce, fc2 produces"}));
    const Workload backward = build_workload(gpt(), layout, spec_of(Phase::backward, 1, 2048));
    EXPECT_EQ(story(layer_of(backward, "block")),
              (Lines{"fc1.backward: all_reduce, fc1.dgrad produces, fc1.wgrad independent",
                     "qkv.backward: all_reduce, qkv.dgrad produces, qkv.wgrad independent"}));
  }
}

// The ten products that tensor-parallel overlap in training knows by name: four forward, and six
// backward of which proj.wgrad and fc2.wgrad use what their dgrad gathered.
TEST(Block, SequenceParallelismBindsEveryProductToACollective) {
  const ParallelLayout layout{8, true, 1};
  const Workload forward = build_workload(gpt(), layout, spec_of(Phase::forward, 1, 2048));
  EXPECT_EQ(story(layer_of(forward, "block")),
            (Lines{"qkv: all_gather, qkv consumes", "proj: reduce_scatter, proj produces",
                   "fc1: all_gather, fc1 consumes", "fc2: reduce_scatter, fc2 produces"}));
  const Workload backward = build_workload(gpt(), layout, spec_of(Phase::backward, 1, 2048));
  EXPECT_EQ(story(layer_of(backward, "block")),
            (Lines{"fc2.backward: all_gather, fc2.dgrad consumes, fc2.wgrad consumes",
                   "fc1.backward: all_gather, fc1.dgrad independent, fc1.wgrad consumes",
                   "fc1.backward: reduce_scatter, fc1.dgrad produces, fc1.wgrad independent",
                   "proj.backward: all_gather, proj.dgrad consumes, proj.wgrad consumes",
                   "qkv.backward: all_gather, qkv.dgrad independent, qkv.wgrad consumes",
                   "qkv.backward: reduce_scatter, qkv.dgrad produces, qkv.wgrad independent"}));
}

TEST(Block, SequenceParallelismSendsTheSameBytesForward) {
  const WorkloadSpec spec = spec_of(Phase::forward, 2, 2048);
  const Totals whole = totals_of(layer_of(build_workload(gpt(), {4, false, 1}, spec), "block"));
  const Totals cut = totals_of(layer_of(build_workload(gpt(), {4, true, 1}, spec), "block"));
  EXPECT_EQ(whole.wire, cut.wire);
  EXPECT_EQ(whole.collectives, 2);
  EXPECT_EQ(cut.collectives, 4);
  EXPECT_EQ(whole.flops, cut.flops);
}

TEST(Block, SequenceParallelismDividesNormsAndDropout) {
  const WorkloadSpec spec = spec_of(Phase::forward, 2, 2048);
  const Workload whole = build_workload(gpt(), {4, false, 1}, spec);
  const Workload cut = build_workload(gpt(), {4, true, 1}, spec);
  for (const char* name : {"norm1", "norm2", "dropout1", "dropout2", "residual1", "residual2"}) {
    const Operator& a = op_of(layer_of(whole, "block"), name);
    const Operator& b = op_of(layer_of(cut, "block"), name);
    EXPECT_EQ(std::get<ElementwiseWork>(a.work).elements,
              4 * std::get<ElementwiseWork>(b.work).elements)
        << name;
    EXPECT_EQ(a.written, b.written * 4) << name;
  }
}

// A norm between the product and the residual needs whole rows, and has them after the same
// collective.
TEST(Block, ANormAfterTheProductMovesNoCollective) {
  ModelConfig model = llama3_70b();
  model.norm_after = true;
  const WorkloadSpec spec = spec_of(Phase::prefill, 1, 4096);
  EXPECT_EQ(story(layer_of(build_workload(model, {8, false, 1}, spec), "block")),
            (Lines{"proj: all_reduce, proj produces", "fc2: all_reduce, fc2 produces"}));
  EXPECT_EQ(story(layer_of(build_workload(model, {8, true, 1}, spec), "block")),
            (Lines{"qkv: all_gather, qkv consumes", "proj: reduce_scatter, proj produces",
                   "fc1: all_gather, fc1 consumes", "fc2: reduce_scatter, fc2 produces"}));
}

TEST(Embedding, IsReducedAndUnderSequenceParallelismScattered) {
  const WorkloadSpec spec = spec_of(Phase::forward, 1, 4096);
  EXPECT_EQ(story(layer_of(build_workload(llama3_70b(), {8, false, 1}, spec), "embedding")),
            Lines{"embedding: all_reduce, embedding produces"});
  EXPECT_EQ(story(layer_of(build_workload(llama3_70b(), {8, true, 1}, spec), "embedding")),
            Lines{"embedding: reduce_scatter, embedding produces"});
}

TEST(Head, InferenceGathersTheLogitsOfTheLastTokens) {
  const Workload workload =
      build_workload(llama3_70b(), {8, false, 1}, spec_of(Phase::prefill, 4, 2048));
  const Layer& head = layer_of(workload, "head");
  ASSERT_EQ(story(head), Lines{"head: all_gather, head produces"});
  EXPECT_EQ(boundaries_of(head)[0]->collectives[0].message.count(), 4 * 128256 * 2);
}

TEST(Head, TrainingReducesThreeNumbersAToken) {
  const Workload workload =
      build_workload(llama3_70b(), {8, false, 1}, spec_of(Phase::forward, 1, 4096));
  const Layer& head = layer_of(workload, "head");
  ASSERT_EQ(boundaries_of(head).size(), 3U) << testing::PrintToString(story(head));
  for (const Boundary* boundary : boundaries_of(head)) {
    EXPECT_EQ(boundary->collectives[0].op, CollectiveOp::all_reduce);
    EXPECT_EQ(boundary->collectives[0].message.count(), 4096 * 4);
  }
}

// Two norms of h gains a block and one at the end, each an addend on every rank: reduced once a
// step.
TEST(NormGradients, AreReducedOnceAStepUnderSequenceParallelism) {
  const WorkloadSpec spec = spec_of(Phase::backward, 1, 4096);
  const Workload cut = build_workload(llama3_70b(), {8, true, 1}, spec);
  const Layer& layer = cut.layers.back();
  EXPECT_EQ(layer.name, "norm_gradients");
  ASSERT_EQ(story(layer), Lines{"norm_gradients: all_reduce, norm_gradients produces"});
  EXPECT_EQ(boundaries_of(layer)[0]->collectives[0].message.count(), (2 * 80 + 1) * 8192 * 2);
  const Workload whole = build_workload(llama3_70b(), {8, false, 1}, spec);
  EXPECT_EQ(whole.layers.back().name, "embedding");
}

TEST(OneRank, SendsNothing) {
  for (const Phase phase : {Phase::prefill, Phase::forward, Phase::backward}) {
    const Workload workload = build_workload(gpt(), {1, false, 1}, spec_of(phase, 1, 1024));
    EXPECT_EQ(totals_of(workload).wire.count(), 0);
    EXPECT_EQ(totals_of(workload).collectives, 0);
  }
}

TEST(Formats, EightBitProductsGatherEightBits) {
  WorkloadSpec spec = spec_of(Phase::prefill, 1, 4096);
  spec.formats = Formats::of(DType::fp8_e4m3);
  const Workload workload = build_workload(llama3_70b(), {8, true, 1}, spec);
  const std::vector<const Boundary*> boundaries = boundaries_of(layer_of(workload, "block"));
  const std::int64_t elements = 4096 * 8192;
  EXPECT_EQ(boundaries[0]->collectives[0].message.count(), elements + elements / 128 * 4);
  EXPECT_EQ(boundaries[1]->collectives[0].message.count(), elements * 2);
}

}  // namespace
}  // namespace weft::model
