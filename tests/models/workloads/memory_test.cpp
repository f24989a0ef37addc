// SPDX-License-Identifier: Apache-2.0
// Memory of one rank, against the closed forms of arXiv 2205.05198 and against parameter counts.
#include "models/workloads/memory.hpp"

#include <gtest/gtest.h>

#include "models/workloads/activation_memory.hpp"
#include "models/workloads/figures.hpp"
#include "tests/models/workloads/models.hpp"
#include "tests/models/workloads/story.hpp"

namespace weft::model {
namespace {

using test::gpt;
using test::llama3_70b;
using test::spec_of;

/// s, b, h, a of a GPT in 16 bits with dropout.
struct Sizes {
  std::int64_t s = 2048;
  std::int64_t b = 4;
  std::int64_t h = 12288;
  std::int64_t a = 96;
};

Bytes kept(const Sizes& z, int t, bool sp, Recompute recompute) {
  WorkloadSpec spec = spec_of(Phase::backward, z.b, z.s);
  spec.recompute = recompute;
  return kept_activations_of_layer(gpt(z.h, z.a), {t, sp, 1}, spec);
}

TEST(ActivationMemory, OneRankKeepsThirtyFourAndScores) {
  // sbh (34 + 5as/h)
  const Sizes z;
  EXPECT_EQ(kept(z, 1, false, Recompute::none).count(),
            34 * z.s * z.b * z.h + 5 * z.a * z.s * z.s * z.b);
}

TEST(ActivationMemory, TensorParallelismLeavesTenUndivided) {
  // sbh (10 + 24/t + 5as/(ht))
  const Sizes z;
  for (const int t : {2, 4, 8}) {
    EXPECT_EQ(kept(z, t, false, Recompute::none).count(),
              10 * z.s * z.b * z.h + 24 * z.s * z.b * z.h / t + 5 * z.a * z.s * z.s * z.b / t);
  }
}

TEST(ActivationMemory, SequenceParallelismDividesEverything) {
  // sbh/t (34 + 5as/h)
  const Sizes z;
  for (const int t : {2, 4, 8}) {
    EXPECT_EQ(kept(z, t, true, Recompute::none).count(),
              (34 * z.s * z.b * z.h + 5 * z.a * z.s * z.s * z.b) / t);
  }
}

TEST(ActivationMemory, SelectiveRecomputationDropsTheScores) {
  // sbh (10 + 24/t), 34 sbh/t
  const Sizes z;
  EXPECT_EQ(kept(z, 8, false, Recompute::selective).count(),
            10 * z.s * z.b * z.h + 24 * z.s * z.b * z.h / 8);
  EXPECT_EQ(kept(z, 8, true, Recompute::selective).count(), 34 * z.s * z.b * z.h / 8);
}

TEST(ActivationMemory, FullRecomputationKeepsTheInput) {
  // 2sbh; under SP a rank's own tokens
  const Sizes z;
  EXPECT_EQ(kept(z, 8, false, Recompute::full).count(), 2 * z.s * z.b * z.h);
  EXPECT_EQ(kept(z, 8, true, Recompute::full).count(), 2 * z.s * z.b * z.h / 8);
}

// Section 4.1's example: 5as/h = 80 for GPT-3 (a 96, s 2048, h 12288).
TEST(ActivationMemory, ScoresOfGpt3AreEightyOverThirtyFour) {
  const Sizes z;
  const std::int64_t sbh = z.s * z.b * z.h;
  EXPECT_EQ(
      kept(z, 1, false, Recompute::none).count() - kept(z, 1, false, Recompute::selective).count(),
      80 * sbh);
}

TEST(RankParameters, OnOneRankAreAllParameters) {
  for (const ModelConfig& model : {llama3_70b(), gpt()}) {
    const RankParameters rank = rank_parameters(model, {1, false, 1});
    EXPECT_EQ(rank.products + rank.others, parameters_of(model).total) << model.name;
  }
}

TEST(RankParameters, ReplicatedKvHeadsAreCountedOnEveryRank) {
  // 16 ranks, 8 KV heads: 8 more K and V heads of 128 x 8192 in each of 80 layers.
  const ModelConfig model = llama3_70b();
  const std::int64_t all = rank_parameters(model, {1, false, 1}).products;
  EXPECT_EQ(rank_parameters(model, {16, false, 1}).products * 16 - all, 80LL * 2 * 8 * 128 * 8192);
  EXPECT_EQ(rank_parameters(model, {8, false, 1}).products * 8, all);
}

// 80 layers, 2 (K and V), 1 head of 128 a rank, 2 bytes, 8192 tokens: 320 MiB.
TEST(KvCache, OfLlama70BOnEightRanks) {
  const WorkloadSpec spec = spec_of(Phase::decode, 1, 1, 8191);
  EXPECT_EQ(kv_cache_bytes(llama3_70b(), {8, false, 1}, spec).count(), 320LL << 20);
  // A head on each of 16 ranks: twice the cache in all, the same a rank.
  EXPECT_EQ(kv_cache_bytes(llama3_70b(), {16, false, 1}, spec).count(), 320LL << 20);
}

TEST(KvCache, LayersWithAWindowKeepNoMore) {
  ModelConfig model = llama3_70b();
  model.windows.assign(80, 1024);
  const WorkloadSpec spec = spec_of(Phase::decode, 1, 1, 8191);
  EXPECT_EQ(kv_cache_bytes(model, {8, false, 1}, spec).count(), 40LL << 20);
}

MemoryUse train(int zero, int replicas, DType master = DType::fp32) {
  const ParallelLayout layout{8, true, replicas};
  const WorkloadSpec spec = spec_of(Phase::backward, 1, 2048);
  OptimizerSpec optimizer;
  optimizer.zero = zero;
  optimizer.master = master;
  return memory_of(gpt(), layout, spec, build_workload(gpt(), layout, spec), optimizer);
}

// bf16 weights and gradients, fp32 moments and master: 2 + 2 + 12 bytes a parameter; ZeRO over d
// replicas: 4 + 12/d, 2 + 14/d, 16/d (arXiv 1910.02054, figure 1).
TEST(Zero, StagesCutStatesThenGradientsThenWeights) {
  const RankParameters rank = rank_parameters(gpt(), {8, true, 1});
  const std::int64_t p = rank.products + rank.others;
  const int d = 4;
  const std::int64_t expected[] = {16 * p, 4 * p + 12 * p / d, 2 * p + 14 * p / d, 16 * p / d};
  for (int stage = 0; stage <= 3; ++stage) {
    const MemoryUse use = train(stage, d);
    EXPECT_NEAR(static_cast<double>((use.weights + use.gradients + use.optimizer).count()),
                static_cast<double>(expected[stage]), 4.0)
        << "stage " << stage;
  }
}

TEST(Zero, AMasterInTheFormatOfTheWeightsIsNoCopy) {
  const RankParameters rank = rank_parameters(gpt(), {8, true, 1});
  EXPECT_EQ(train(0, 1, DType::bf16).optimizer.count(), 8 * (rank.products + rank.others));
}

TEST(Memory, InferenceKeepsNoGradients) {
  const ParallelLayout layout{8, false, 1};
  const WorkloadSpec spec = spec_of(Phase::prefill, 1, 8192);
  const Workload workload = build_workload(llama3_70b(), layout, spec);
  const MemoryUse use = memory_of(llama3_70b(), layout, spec, workload);
  EXPECT_EQ(use.gradients.count() + use.optimizer.count(), 0);
  EXPECT_EQ(use.kv_cache.count(), 320LL << 20);
  // Twice the 8192 x 8192 bf16 message of an all-reduce.
  EXPECT_EQ(use.communication.count(), 2 * (128LL << 20));
  EXPECT_NEAR(static_cast<double>(use.weights.count()), 2.0 * 70'553'706'496 / 8, 1e7);
  EXPECT_GT(total_of(use), use.weights + use.kv_cache);
}

TEST(Memory, FullRecomputationStillNeedsOneLayer) {
  const ParallelLayout layout{8, true, 1};
  WorkloadSpec spec = spec_of(Phase::backward, 1, 2048);
  const Bytes all = kept_activations_of_layer(gpt(), layout, spec);
  spec.recompute = Recompute::full;
  const MemoryUse use = memory_of(gpt(), layout, spec, build_workload(gpt(), layout, spec));
  EXPECT_EQ(use.activations, kept_activations_of_layer(gpt(), layout, spec) * 95 + all +
                                 kept_activations_of_ends(gpt(), layout, spec));
}

// One replica's ranks together do the model's FLOPs, if no head is replicated and no row padded.
TEST(ModelFlops, AreWhatTheWorkloadDoes) {
  for (const Phase phase : {Phase::prefill, Phase::forward}) {
    const WorkloadSpec spec = spec_of(phase, 2, 1024);
    const Workload workload = build_workload(llama3_70b(), {8, false, 1}, spec);
    EXPECT_EQ(totals_of(workload).flops * 8, model_flops(llama3_70b(), spec)) << name_of(phase);
  }
}

// The forward pass is a phase of its own.
TEST(ModelFlops, ABackwardPassIsTwoForwardPasses) {
  const Flops forward = model_flops(gpt(), spec_of(Phase::forward, 1, 2048));
  EXPECT_EQ(model_flops(gpt(), spec_of(Phase::backward, 1, 2048)), forward * 2);
}

// 8192 tokens in 1 s on 8 GPUs, two replicas: 16384 tokens/s, 1024 a GPU.
TEST(Figures, AreRatesOfAllReplicasAndOfAGpu) {
  using namespace weft::literals;
  const WorkloadSpec spec = spec_of(Phase::prefill, 1, 8192);
  const StepFigures figures = figures_of(llama3_70b(), {8, false, 2}, spec, 1_s, 1_TFLOPps);
  EXPECT_DOUBLE_EQ(figures.tokens_per_second, 16384);
  EXPECT_DOUBLE_EQ(figures.tokens_per_second_and_gpu, 1024);
  EXPECT_DOUBLE_EQ(figures.mfu,
                   static_cast<double>(model_flops(llama3_70b(), spec).count()) / 8e12);
  EXPECT_EQ(time_name(Phase::decode), "TPOT");
}

}  // namespace
}  // namespace weft::model
