// SPDX-License-Identifier: Apache-2.0
// What a model computes and moves on one rank.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/layouts/error.hpp"
#include "models/workloads/attention.hpp"
#include "tests/models/workloads/models.hpp"
#include "tests/models/workloads/story.hpp"

namespace weft::model {
namespace {

using test::gpt;
using test::layer_of;
using test::llama3_70b;
using test::op_of;
using test::spec_of;
using testing::HasSubstr;

TEST(Block, ShapesOfLlama70BOnEightRanks) {
  const Workload workload =
      build_workload(llama3_70b(), {8, false, 1}, spec_of(Phase::prefill, 1, 8192));
  const Layer& block = layer_of(workload, "block");
  EXPECT_EQ(block.count, 80);
  const auto shape = [&](const char* name) { return matmul_of(op_of(block, name))->rank; };
  EXPECT_EQ(shape("qkv"), (MatmulShape{8192, (64 + 2 * 8) * 128 / 8, 8192}));
  EXPECT_EQ(shape("proj"), (MatmulShape{8192, 8192, 64 * 128 / 8}));
  EXPECT_EQ(shape("fc1"), (MatmulShape{8192, 2 * 28672 / 8, 8192}));
  EXPECT_EQ(shape("fc2"), (MatmulShape{8192, 8192, 28672 / 8}));
  const auto& attention = std::get<AttentionWork>(op_of(block, "attention").work);
  EXPECT_EQ(attention.heads, 8);
  EXPECT_EQ(attention.kv_heads, 1);
  EXPECT_EQ(boundaries_of(block)[0]->layers, 80);
}

TEST(Block, FlopsOfAllRanksAreTwiceParametersAndTokens) {
  const std::int64_t tokens = 4096;
  const std::int64_t matrices = 2LL * 8192 * 128 * (64 + 8) + 3LL * 8192 * 28672;
  const std::int64_t pairs = tokens * (tokens + 1) / 2;
  for (const int tp : {1, 2, 4, 8}) {
    const Workload workload =
        build_workload(llama3_70b(), {tp, false, 1}, spec_of(Phase::prefill, 1, tokens));
    EXPECT_EQ(totals_of(layer_of(workload, "block")).flops.count() * tp,
              2 * matrices * tokens + 4 * pairs * 128 * 64);
  }
}

// dgrad and wgrad each cost what the forward product does; attention computes 5 products for 2.
TEST(Block, BackwardProductsCostTwiceTheForwardOnes) {
  const ParallelLayout layout{8, true, 1};
  const auto flops = [&](Phase phase, bool products) {
    Flops sum;
    const Workload workload = build_workload(gpt(), layout, spec_of(phase, 1, 2048));
    for (const Operator* op : operators_of(layer_of(workload, "block"))) {
      if ((matmul_of(*op) != nullptr) == products) sum += op->flops;
    }
    return sum;
  };
  EXPECT_EQ(flops(Phase::backward, true), flops(Phase::forward, true) * 2);
  EXPECT_EQ(flops(Phase::backward, false) * 2, flops(Phase::forward, false) * 5);
}

TEST(Block, RecomputationRunsForwardAgain) {
  WorkloadSpec spec = spec_of(Phase::backward, 1, 2048);
  const ParallelLayout layout{8, false, 1};
  const Totals none = totals_of(layer_of(build_workload(gpt(), layout, spec), "block"));
  spec.recompute = Recompute::full;
  const Totals full = totals_of(layer_of(build_workload(gpt(), layout, spec), "block"));
  spec.recompute = Recompute::selective;
  const Workload selective = build_workload(gpt(), layout, spec);
  spec.phase = Phase::forward;
  const Workload forward = build_workload(gpt(), layout, spec);
  const Totals once = totals_of(layer_of(forward, "block"));
  EXPECT_EQ(full.flops, none.flops + once.flops);
  EXPECT_EQ(full.wire, none.wire + once.wire);
  EXPECT_EQ(totals_of(layer_of(selective, "block")).flops,
            none.flops + op_of(layer_of(forward, "block"), "attention").flops);
}

TEST(Block, EveryOperatorOccursOnce) {
  for (const Phase phase : {Phase::prefill, Phase::forward, Phase::backward}) {
    for (const bool sp : {false, true}) {
      const Workload workload = build_workload(gpt(), {4, sp, 1}, spec_of(phase, 1, 1024));
      for (const Layer& layer : workload.layers) {
        std::vector<std::string> names;
        for (const Operator* op : operators_of(layer)) names.push_back(op->name);
        std::sort(names.begin(), names.end());
        EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << layer.name;
      }
    }
  }
}

// 16 ranks, 8 KV heads: each head lies on two ranks, is projected twice and cached twice.
TEST(Block, KvHeadsFewerThanRanksAreReplicated) {
  const Workload workload =
      build_workload(llama3_70b(), {16, false, 1}, spec_of(Phase::decode, 64, 1, 4095));
  const Layer& block = layer_of(workload, "block");
  EXPECT_EQ(matmul_of(op_of(block, "qkv"))->rank.n, (64 / 16 + 2 * 1) * 128);
  const auto& attention = std::get<AttentionWork>(op_of(block, "attention").work);
  EXPECT_EQ(attention.kv_heads, 1);
  EXPECT_EQ(attention.heads, 4);
}

TEST(Block, DecodeReadsTheCache) {
  const Workload workload =
      build_workload(llama3_70b(), {8, false, 1}, spec_of(Phase::decode, 64, 1, 4095));
  const Operator& attention = op_of(layer_of(workload, "block"), "attention");
  const std::int64_t cache = 64LL * 4096 * 2 * 1 * 128 * 2;
  EXPECT_GE(attention.read.count(), cache);
  EXPECT_LE(attention.read.count(), cache + cache / 100);
  // One new key and value a sequence, and the output of 8 heads.
  EXPECT_EQ(attention.written.count(), 64 * 2 * 128 * 2 + 64 * 8 * 128 * 2);
}

TEST(LayoutProblems, AreReportedTogetherInWords) {
  ModelConfig model = llama3_70b();
  model.heads = 40;
  model.kv_heads = 10;
  try {
    build_workload(model, {16, true, 1}, spec_of(Phase::prefill, 1, 1000));
    FAIL();
  } catch (const LayoutError& error) {
    EXPECT_STREQ(
        error.what(),
        "llama3-70b at TP=16 SP: 40 query heads do not divide by TP=16; 10 key/value heads do "
        "not divide by TP=16, nor TP by them: they cannot be replicated evenly; 1000 tokens do "
        "not divide by TP=16, as sequence parallelism needs");
  }
}

TEST(LayoutProblems, SequenceParallelismNeedsRanks) {
  EXPECT_THAT(layout_problems(llama3_70b(), {1, true, 1}, spec_of(Phase::prefill, 1, 8))[0],
              HasSubstr("needs TP of at least 2"));
}

TEST(LayoutsFor, UseEveryGpuInEveryWayThatDivides) {
  ModelConfig model = llama3_70b();
  model.heads = 40;  // divides by 1, 2, 4, 8
  model.kv_heads = 40;
  std::vector<std::string> can;
  std::vector<std::string> cannot;
  for (const LayoutCandidate& each : layouts_for(model, spec_of(Phase::prefill, 1, 4), 16)) {
    (each.problems.empty() ? can : cannot).push_back(to_text(each.layout));
  }
  EXPECT_THAT(
      can, testing::ElementsAre("TP=8 x 2 replicas", "TP=4 x 4 replicas", "TP=4 SP x 4 replicas",
                                "TP=2 x 8 replicas", "TP=2 SP x 8 replicas", "TP=1 x 16 replicas"));
  EXPECT_THAT(cannot, testing::ElementsAre("TP=16", "TP=16 SP", "TP=8 SP x 2 replicas"));
}

TEST(Windows, LayersThatSeeLessAreLayersOfTheirOwn) {
  ModelConfig model = llama3_70b();
  model.windows.assign(80, 0);
  for (std::size_t i = 0; i < 80; i += 2) model.windows[i] = 1024;
  const Workload longer = build_workload(model, {8, false, 1}, spec_of(Phase::prefill, 1, 4096));
  EXPECT_EQ(layer_of(longer, "block").count, 40);
  EXPECT_EQ(layer_of(longer, "block.window").count, 40);
  EXPECT_LT(op_of(layer_of(longer, "block.window"), "attention").flops,
            op_of(layer_of(longer, "block"), "attention").flops);
  const Workload shorter = build_workload(model, {8, false, 1}, spec_of(Phase::prefill, 1, 1024));
  EXPECT_EQ(layer_of(shorter, "block").count, 80);
}

TEST(AttentionPairs, AreThoseOfTheMask) {
  for (const std::int64_t kv : {1, 2, 7, 16}) {
    for (std::int64_t q = 1; q <= kv; ++q) {
      for (std::int64_t window = 0; window <= kv + 1; ++window) {
        AttentionWork work;
        work.query_length = q;
        work.kv_length = kv;
        work.window = window;
        std::int64_t pairs = 0;
        for (std::int64_t i = 0; i < q; ++i) {
          for (std::int64_t j = 0; j < kv; ++j) {
            const std::int64_t place = kv - q + i;
            if (j <= place && (window == 0 || place - j < window)) ++pairs;
          }
        }
        EXPECT_EQ(attention_pairs(problem_of(work)), pairs)
            << "q " << q << " kv " << kv << " window " << window;
      }
    }
  }
}

}  // namespace
}  // namespace weft::model
