// SPDX-License-Identifier: Apache-2.0
// Communication that follows from where tensors lie.
#include "models/layouts/derive.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/layouts/backward.hpp"
#include "models/layouts/error.hpp"

namespace weft::model {
namespace {

const TensorFormat bf16;
const Dim tokens{"tokens", 1024};
const Dim hidden{"hidden", 512};
const Dim ffn{"ffn", 2048};
const Dim heads{"heads", 16};
const Dim head_dim{"head_dim", 32};
const Dim vocab{"vocab", 4096};
const Mesh tp4 = Mesh().with(Axis::tp, 4);

Placements on_tp(const std::string& dim) {
  return {Axis::tp, Placement::shard(dim)};
}

std::vector<std::string> story(const Dataflow& flow, const Derivation& derivation) {
  std::vector<std::string> lines;
  for (const Conversion& conversion : derivation.conversions) {
    if (!conversion.op) continue;
    lines.push_back(std::string(name_of(*conversion.op)) + " " +
                    flow.value(conversion.tensor).tensor.name);
  }
  return lines;
}

TensorId matmul(Dataflow& flow, const std::string& name, TensorId x, TensorId w, Tensor out) {
  return flow
      .add({.name = name, .rule = Rule::contract, .what = "matmul", .inputs = {x, w}},
           {std::move(out)})
      .front();
}

using Lines = std::vector<std::string>;

// y = x W^T with W cut along N: each rank computes its own columns of y from the whole x.
TEST(ColumnParallel, ForwardSendsNothingAndBackwardReducesTheInputGradient) {
  Dataflow flow;
  const TensorId x = flow.input({"x", {tokens, hidden}, bf16});
  const TensorId w = flow.weight({"w", {ffn, hidden}, bf16}, on_tp("ffn"));
  const TensorId y = matmul(flow, "fc1", x, w, {"y", {tokens, ffn}, bf16});
  flow.begin_backward();
  const TensorId dy = flow.input({"d(y)", {tokens, ffn}, bf16}, on_tp("ffn"));
  for (const Gradient& gradient : append_backward(flow, {y, dy}, {bf16, bf16})) {
    if (gradient.of == x) flow.place(gradient.gradient, {});
  }
  const Derivation derivation = derive(flow, tp4);
  EXPECT_EQ(derivation.values[y.value()], on_tp("ffn"));
  EXPECT_EQ(story(flow, derivation), Lines{"all_reduce d(x)"});
}

// y = x W^T with W and x cut along K: each rank computes an addend of all of y.
TEST(RowParallel, ForwardReducesTheOutputAndBackwardSendsNothing) {
  Dataflow flow;
  const TensorId x = flow.input({"x", {tokens, ffn}, bf16}, on_tp("ffn"));
  const TensorId w = flow.weight({"w", {hidden, ffn}, bf16}, on_tp("ffn"));
  const TensorId y = matmul(flow, "fc2", x, w, {"y", {tokens, hidden}, bf16});
  flow.place(y, {});
  flow.begin_backward();
  const TensorId dy = flow.input({"d(y)", {tokens, hidden}, bf16});
  const std::vector<Gradient> gradients = append_backward(flow, {y, dy}, {bf16, bf16});
  const Derivation derivation = derive(flow, tp4);
  EXPECT_TRUE(derivation.values[y.value()].on(Axis::tp).is_partial());
  EXPECT_EQ(story(flow, derivation), Lines{"all_reduce y"});
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(derivation.values[gradients[0].gradient.value()], on_tp("ffn"));
  EXPECT_EQ(derivation.values[gradients[1].gradient.value()], on_tp("ffn"));
}

// Data parallelism needs no rule of its own: the sum over tokens in dW runs over shards of them.
TEST(DataParallel, GradientsOfWeightsAreReduced) {
  Dataflow flow;
  const Placements batch(Axis::dp, Placement::shard("tokens"));
  const TensorId x = flow.input({"x", {{"tokens", 1 << 16}, hidden}, bf16}, batch);
  const TensorId w = flow.weight({"w", {ffn, hidden}, bf16});
  const TensorId y = matmul(flow, "fc1", x, w, {"y", {{"tokens", 1 << 16}, ffn}, bf16});
  flow.begin_backward();
  const TensorId dy = flow.input({"d(y)", {{"tokens", 1 << 16}, ffn}, bf16}, batch);
  append_backward(flow, {y, dy}, {bf16, bf16});
  EXPECT_EQ(story(flow, derive(flow, Mesh().with(Axis::dp, 8))), Lines{"all_reduce d(w)"});
}

Dataflow residual_and_norm(const Placements& stream) {
  Dataflow flow;
  const TensorId a = flow.input({"a", {tokens, hidden}, bf16}, stream);
  const TensorId b = flow.input({"b", {tokens, hidden}, bf16}, stream);
  const TensorId gain = flow.weight({"gain", {hidden}, bf16});
  const TensorId c =
      flow.add({.name = "residual", .rule = Rule::linear, .what = "add", .inputs = {a, b}},
               {{"c", {tokens, hidden}, bf16}})
          .front();
  const TensorId n = flow.add({.name = "norm",
                               .rule = Rule::normalize,
                               .what = "rms_norm",
                               .inputs = {c, gain},
                               .mixed = {"hidden"}},
                              {{"n", {tokens, hidden}, bf16}})
                         .front();
  flow.place(n, stream);
  flow.begin_backward();
  const TensorId dn = flow.input({"d(n)", {tokens, hidden}, bf16}, stream);
  append_backward(flow, {n, dn}, {bf16, bf16});
  return flow;
}

TEST(ResidualAndNorm, AreFreeWholeAndCutAlongTokens) {
  for (const Placements& stream : {Placements(), on_tp("tokens")}) {
    const Dataflow flow = residual_and_norm(stream);
    EXPECT_TRUE(derive(flow, tp4).conversions.empty()) << to_text(stream);
  }
}

TEST(ResidualAndNorm, NormOfFeaturesThatAreCutMustGatherThem) {
  const Dataflow flow = residual_and_norm(on_tp("hidden"));
  const Derivation derivation = derive(flow, tp4);
  ASSERT_FALSE(derivation.conversions.empty());
  EXPECT_NE(derivation.conversions[0].op, std::nullopt);
}

// The gain's gradient sums over tokens, of which each rank has its own: an addend, reduced once a
// step.
TEST(ResidualAndNorm, UnderSequenceParallelismTheGradientOfTheGainIsAnAddend) {
  const Dataflow flow = residual_and_norm(on_tp("tokens"));
  const Derivation derivation = derive(flow, tp4);
  bool found = false;
  for (std::uint32_t i = 0; i < flow.values(); ++i) {
    if (flow.value(TensorId(i)).tensor.name != "d(gain)") continue;
    found = true;
    EXPECT_TRUE(derivation.values[i].on(Axis::tp).is_partial());
  }
  EXPECT_TRUE(found);
}

Dataflow attention_of(const Placements& q_placement) {
  Dataflow flow;
  const TensorId q = flow.input({"q", {tokens, heads, head_dim}, bf16}, q_placement);
  const TensorId k = flow.input({"k", {tokens, heads, head_dim}, bf16}, q_placement);
  const TensorId v = flow.input({"v", {tokens, heads, head_dim}, bf16}, q_placement);
  flow.add({.name = "attention",
            .rule = Rule::attention,
            .what = "attention",
            .inputs = {q, k, v},
            .mixed = {"tokens", "head_dim"}},
           {{"o", {tokens, heads, head_dim}, bf16}});
  return flow;
}

TEST(Attention, HeadsAreIndependent) {
  EXPECT_TRUE(derive(attention_of(on_tp("heads")), tp4).conversions.empty());
}

TEST(Attention, CuttingTheHeadDimensionIsRefusedWithTheReason) {
  try {
    derive(attention_of(on_tp("head_dim")), tp4);
    FAIL() << "the head dimension was cut";
  } catch (const LayoutError& error) {
    EXPECT_EQ(error.consumer(), "attention");
    EXPECT_EQ(error.tensor(), "q");
    EXPECT_STREQ(
        error.what(),
        "attention cannot take q as Shard(head_dim) on tp: scores sum over head_dim, so each "
        "rank would hold an addend of them, and softmax of a sum is not the sum of softmaxes; "
        "cut the heads instead, which are independent");
  }
}

// Tokens cut on cp before attention, heads after: an all-to-all for each of q, k and v (DeepSpeed
// Ulysses).
TEST(Attention, TokensThatAreCutTurnIntoHeadsByAllToAll) {
  Dataflow flow;
  const Placements rows(Axis::cp, Placement::shard("tokens"));
  const TensorId q = flow.input({"q", {tokens, heads, head_dim}, bf16}, rows);
  const TensorId o = flow.add({.name = "attention",
                               .rule = Rule::attention,
                               .what = "attention",
                               .inputs = {q},
                               .mixed = {"tokens", "head_dim"}},
                              {{"o", {tokens, heads, head_dim}, bf16}})
                         .front();
  flow.place(o, rows);
  EXPECT_EQ(story(flow, derive(flow, Mesh().with(Axis::cp, 4))),
            (Lines{"all_to_all q", "all_to_all o"}));
}

Dataflow embedding_of(const std::string& cut, const Placements& stream) {
  Dataflow flow;
  const TensorId ids = flow.constant({"ids", {tokens}, {DType::fp32}});
  const TensorId table = flow.weight({"table", {vocab, hidden}, bf16}, on_tp(cut));
  const TensorId x = flow.add({.name = "embedding",
                               .rule = Rule::lookup,
                               .what = "lookup",
                               .inputs = {ids, table},
                               .mixed = {"vocab"}},
                              {{"x", {tokens, hidden}, bf16}})
                         .front();
  flow.place(x, stream);
  flow.begin_backward();
  const TensorId dx = flow.input({"d(x)", {tokens, hidden}, bf16}, stream);
  append_backward(flow, {x, dx}, {bf16, bf16});
  return flow;
}

// Each rank looks up the rows it has and adds zeros for the others; its gradient needs every
// token's.
TEST(VocabularyParallel, EmbeddingYieldsAnAddend) {
  const Dataflow flow = embedding_of("vocab", {});
  EXPECT_EQ(story(flow, derive(flow, tp4)), Lines{"all_reduce x"});
  const Dataflow sequence = embedding_of("vocab", on_tp("tokens"));
  EXPECT_EQ(story(sequence, derive(sequence, tp4)), (Lines{"reduce_scatter x", "all_gather d(x)"}));
}

TEST(VocabularyParallel, EmbeddingCutAlongFeaturesGathersThem) {
  const Dataflow flow = embedding_of("hidden", {});
  EXPECT_EQ(story(flow, derive(flow, tp4)), Lines{"all_gather x"});
}

// Logits stay cut along the vocabulary: the loss needs only sums over it, [tokens] elements each.
TEST(VocabularyParallel, HeadReducesStatisticsAndNotLogits) {
  Dataflow flow;
  const TensorId x = flow.input({"x", {tokens, hidden}, bf16});
  const TensorId w = flow.weight({"w", {vocab, hidden}, bf16}, on_tp("vocab"));
  const TensorId logits = matmul(flow, "head", x, w, {"logits", {tokens, vocab}, bf16});
  const TensorId statistics = flow.add({.name = "statistics",
                                        .rule = Rule::reduce,
                                        .what = "sum",
                                        .inputs = {logits},
                                        .mixed = {"vocab"}},
                                       {{"statistics", {tokens}, {DType::fp32}}})
                                  .front();
  const TensorId loss =
      flow.add({.name = "loss", .rule = Rule::elementwise, .what = "loss", .inputs = {statistics}},
               {{"loss", {tokens}, {DType::fp32}}})
          .front();
  flow.place(loss, {});
  const Derivation derivation = derive(flow, tp4);
  ASSERT_EQ(story(flow, derivation), Lines{"all_reduce statistics"});
  EXPECT_EQ(derivation.conversions[0].message.count(), 1024 * 4);
}

/// A row-parallel product whose output joins a residual stream that lies as `stream` says.
Dataflow projection_into(const Placements& stream) {
  Dataflow flow;
  const TensorId r = flow.input({"stream", {tokens, hidden}, bf16}, stream);
  const TensorId x = flow.input({"x", {tokens, ffn}, bf16}, on_tp("ffn"));
  const TensorId w = flow.weight({"w", {hidden, ffn}, bf16}, on_tp("ffn"));
  const TensorId y = matmul(flow, "fc2", x, w, {"y", {tokens, hidden}, bf16});
  const TensorId sum =
      flow.add({.name = "residual2", .rule = Rule::linear, .what = "add", .inputs = {r, y}},
               {{"sum", {tokens, hidden}, bf16}})
          .front();
  flow.place(sum, stream);
  return flow;
}

TEST(RowParallel, WhatEndsItFollowsFromWhatTheResidualNeeds) {
  const Dataflow whole = projection_into({});
  EXPECT_EQ(story(whole, derive(whole, tp4)), Lines{"all_reduce y"});
  const Dataflow sequence = projection_into(on_tp("tokens"));
  EXPECT_EQ(story(sequence, derive(sequence, tp4)), Lines{"reduce_scatter y"});
}

TEST(Replacement, ReduceScatterForAllReduceIsRefusedAndNamesTheConsumer) {
  const Dataflow flow = projection_into({});
  const Derivation derivation = derive(flow, tp4);
  ASSERT_EQ(derivation.conversions.size(), 1U);
  try {
    check_replacement(flow, derivation.conversions[0], CollectiveOp::reduce_scatter);
    FAIL() << "the residual was given a slice";
  } catch (const LayoutError& error) {
    EXPECT_EQ(error.consumer(), "residual2");
    EXPECT_STREQ(
        error.what(),
        "reduce_scatter of y on tp would leave each rank with a slice, but residual2 needs it "
        "as Replicate");
  }
}

TEST(Replacement, AGatherOfAddendsIsRefused) {
  const Dataflow flow = projection_into({});
  const Derivation derivation = derive(flow, tp4);
  EXPECT_THROW(check_replacement(flow, derivation.conversions[0], CollectiveOp::all_gather),
               LayoutError);
}

TEST(Replacement, AllReduceForReduceScatterIsWastefulButRight) {
  const Dataflow flow = projection_into(on_tp("tokens"));
  const Derivation derivation = derive(flow, tp4);
  EXPECT_NO_THROW(check_replacement(flow, derivation.conversions[0], CollectiveOp::all_reduce));
  EXPECT_NO_THROW(check_replacement(flow, derivation.conversions[0], CollectiveOp::reduce_scatter));
}

// Two row-parallel products into one sum, as in blocks that run attention and MLP side by side:
// addends are added first, and reduced once.
TEST(RowParallel, AddendsAreSummedBeforeTheyAreReduced) {
  Dataflow flow;
  TensorId parts[2] = {TensorId(0), TensorId(0)};
  for (int i = 0; i < 2; ++i) {
    const std::string n = std::to_string(i);
    const TensorId x = flow.input({"x" + n, {tokens, ffn}, bf16}, on_tp("ffn"));
    const TensorId w = flow.weight({"w" + n, {hidden, ffn}, bf16}, on_tp("ffn"));
    parts[i] = matmul(flow, "fc" + n, x, w, {"y" + n, {tokens, hidden}, bf16});
  }
  const TensorId sum =
      flow.add({.name = "sum", .rule = Rule::linear, .what = "add", .inputs = {parts[0], parts[1]}},
               {{"sum", {tokens, hidden}, bf16}})
          .front();
  flow.place(sum, {});
  EXPECT_EQ(story(flow, derive(flow, tp4)), Lines{"all_reduce sum"});
}

TEST(Contraction, AWeightThatNoRuleCoversIsRefusedByName) {
  Dataflow flow;
  const TensorId a = flow.weight({"a", {tokens, hidden}, bf16}, on_tp("tokens"));
  const TensorId b = flow.weight({"b", {ffn, hidden}, bf16}, on_tp("ffn"));
  matmul(flow, "product", a, b, {"y", {tokens, ffn}, bf16});
  try {
    derive(flow, tp4);
    FAIL() << "both outer dimensions were cut on one axis";
  } catch (const LayoutError& error) {
    EXPECT_EQ(error.consumer(), "product");
  }
}

}  // namespace
}  // namespace weft::model
