// SPDX-License-Identifier: Apache-2.0
// Closed forms of attention and of memory-bound kernels.
#include "models/cost/roofline.hpp"

#include <gtest/gtest.h>

#include "tests/models/cost/sample_profile.hpp"

namespace weft::model {
namespace {

using namespace literals;
using testing::given;
using testing::sample_profile;

Profile with_memory() {
  Profile profile = sample_profile();
  profile.memory = MemoryConstants{given(2_us), given(0.5), given(10_GBps)};
  AttentionConstants attention;
  attention.head_dim = 128;
  attention.start = given(4_us);
  attention.matrix_efficiency = given(1.0);
  attention.tile_prologue = given(Duration{});
  profile.attention = {attention};
  return profile;
}

// Half of 1 TB/s, or 10 GB/s an SM: 100 SMs are enough for the first, 20 are not.
TEST(Roofline, MemoryBoundTimeIsBytesOverTheLesserRate) {
  const Profile profile = with_memory();
  EXPECT_EQ(memory_cost(profile, 1_GB, SmBudget::of(100)).time, 2_us + 2_ms);
  EXPECT_EQ(memory_cost(profile, 1_GB, SmBudget::of(20)).time, 2_us + 5_ms);
}

TEST(Roofline, NormReadsAndWritesOnceAndAResidualTwice) {
  const Profile profile = with_memory();
  const SmBudget all = SmBudget::of(100);
  EXPECT_EQ(norm_cost(profile, 4096, 8192, DType::bf16, false, all).hbm_bytes, 128_MiB);
  EXPECT_EQ(norm_cost(profile, 4096, 8192, DType::bf16, true, all).hbm_bytes, 256_MiB);
  EXPECT_EQ(elementwise_cost(profile, 1 << 20, 2, 1, DType::bf16, all).hbm_bytes, 6_MiB);
  EXPECT_EQ(embedding_cost(profile, 512, 1024, DType::bf16, all).hbm_bytes, 2_MiB);
}

// n queries over n keys, each seeing the keys up to itself: n(n+1)/2.
TEST(Attention, CausalPairsAreTheTriangle) {
  AttentionProblem problem{
      .query_tokens = 1000, .key_tokens = 1000, .heads = 1, .kv_heads = 1, .head_dim = 128};
  EXPECT_EQ(attention_pairs(problem), 1000 * 1001 / 2);
  problem.causal = false;
  EXPECT_EQ(attention_pairs(problem), 1000 * 1000);
  problem.causal = true;
  problem.key_tokens = 5000;  // 4000 keys before the first query
  EXPECT_EQ(attention_pairs(problem), 1000 * 4000 + 1000 * 1001 / 2);
}

TEST(Attention, WindowCutsTheTriangle) {
  AttentionProblem problem{
      .query_tokens = 50, .key_tokens = 50, .heads = 1, .kv_heads = 1, .head_dim = 128};
  for (const std::int64_t window : {1, 7, 49, 50, 80}) {
    problem.window = window;
    std::int64_t counted = 0;
    for (std::int64_t i = 1; i <= 50; ++i) counted += std::min(i, window);
    EXPECT_EQ(attention_pairs(problem), counted) << window;
  }
}

// 2 sequences x 4 heads x 1024^2 pairs x 4 x 128 flop on 100 SMs of 1 TFLOP/s each.
TEST(Attention, FullAttentionTakesItsFlops) {
  const Profile profile = with_memory();
  const AttentionProblem problem{.batch = 25,
                                 .query_tokens = 1024,
                                 .key_tokens = 1024,
                                 .heads = 4,
                                 .kv_heads = 4,
                                 .head_dim = 128,
                                 .causal = false};
  const KernelCost cost = attention_cost(profile, problem, SmBudget::of(100));
  EXPECT_EQ(cost.tiles, 25 * 4 * 8);
  EXPECT_EQ(cost.flops.count(), std::int64_t{100} * 1024 * 1024 * 512);
  EXPECT_EQ(cost.time, 4_us + cost.flops / 100_TFLOPps);
}

TEST(Attention, DecodeReadsItsCache) {
  const Profile profile = with_memory();
  const AttentionProblem problem{.batch = 64,
                                 .query_tokens = 1,
                                 .key_tokens = 32768,
                                 .heads = 8,
                                 .kv_heads = 1,
                                 .head_dim = 128};
  const KernelCost cost = attention_cost(profile, problem, SmBudget::of(100));
  // K and V of 64 sequences: 1 GiB, beside a few queries.
  EXPECT_GE(cost.hbm_bytes, 1_GiB);
  EXPECT_GE(cost.time, 1_GiB / 500_GBps);
}

TEST(Attention, BackwardIsFiveProductsForTwo) {
  AttentionProblem problem{
      .query_tokens = 512, .key_tokens = 512, .heads = 2, .kv_heads = 2, .head_dim = 64};
  const Flops forward = attention_flops(problem);
  problem.backward = true;
  EXPECT_EQ(attention_flops(problem) * 2, forward * 5);
}

TEST(Attention, NonsenseIsRefused) {
  EXPECT_THROW((void)attention_cost(
                   with_memory(),
                   {.query_tokens = 8, .key_tokens = 4, .heads = 1, .kv_heads = 1, .head_dim = 64},
                   SmBudget::of(1)),
               std::domain_error);
}

}  // namespace
}  // namespace weft::model
