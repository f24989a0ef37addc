// SPDX-License-Identifier: Apache-2.0
// Placements and the collectives between them.
#include "models/layouts/conversion.hpp"

#include <gtest/gtest.h>

#include "models/layouts/error.hpp"

namespace weft::model {
namespace {

const Placement whole = Placement::replicate();
const Placement addend = Placement::partial();
const Placement rows = Placement::shard("tokens");
const Placement columns = Placement::shard("hidden");

TEST(Conversion, EveryPairOfPlacementsHasItsCollective) {
  EXPECT_EQ(collective_between(rows, whole), CollectiveOp::all_gather);
  EXPECT_EQ(collective_between(rows, columns), CollectiveOp::all_to_all);
  EXPECT_EQ(collective_between(addend, whole), CollectiveOp::all_reduce);
  EXPECT_EQ(collective_between(addend, rows), CollectiveOp::reduce_scatter);
}

TEST(Conversion, WhatARankCanDoAloneIsFree) {
  EXPECT_EQ(collective_between(whole, rows), std::nullopt);
  EXPECT_EQ(collective_between(whole, addend), std::nullopt);
  EXPECT_EQ(collective_between(rows, addend), std::nullopt);
  for (const Placement& same : {whole, rows, columns, addend}) {
    EXPECT_EQ(collective_between(same, same), std::nullopt);
  }
}

// nccl-tests: a rank sends 2(p-1)/p of an all-reduce's message: 1, 1.5, 1.75, 1.875; half of it for
// all-gather and reduce-scatter.
TEST(WireBytes, AllReduceIsTwiceAllGatherAndReduceScatter) {
  const Bytes message = Bytes::from(1 << 20);
  const std::int64_t sixteenths[] = {16, 24, 28, 30};
  int i = 0;
  for (const int ranks : {2, 4, 8, 16}) {
    const Bytes reduce = wire_bytes(CollectiveOp::all_reduce, message, ranks);
    EXPECT_EQ(reduce.count(), message.count() / 16 * sixteenths[i++]);
    EXPECT_EQ(wire_bytes(CollectiveOp::all_gather, message, ranks).count() * 2, reduce.count());
    EXPECT_EQ(wire_bytes(CollectiveOp::reduce_scatter, message, ranks).count() * 2, reduce.count());
  }
}

TEST(WireBytes, AGroupOfOneSendsNothing) {
  for (const CollectiveOp op : every_collective_op) {
    EXPECT_EQ(wire_bytes(op, Bytes::from(12345), 1), Bytes::from(0));
  }
}

// b=2, s=2048, h=8192, bf16, TP=4: 2*2048*8192*2 B = 67,108,864 B; times 2*3/4 = 100,663,296 B.
TEST(WireBytes, ForwardAllReduceOfTheWorkedExample) {
  const Tensor y{"y", {{"tokens", 2 * 2048}, {"hidden", 8192}}, {}};
  const Mesh mesh = Mesh().with(Axis::tp, 4);
  const Bytes message =
      message_bytes(CollectiveOp::all_reduce, y, Placements(Axis::tp, addend), Axis::tp, mesh);
  EXPECT_EQ(message.count(), 67'108'864);
  EXPECT_EQ(conversion_wire_bytes(y, addend, whole, Axis::tp, mesh).count(), 100'663'296);
}

// nccl-tests counts the gathered tensor of an all-gather, the whole input of a reduce-scatter and
// one rank's buffer of an all-to-all.
TEST(Message, IsWhatNcclTestsCallsSize) {
  const Tensor x{"x", {{"tokens", 1024}, {"hidden", 256}}, {}};
  const Mesh mesh = Mesh().with(Axis::tp, 8);
  const std::int64_t all = 1024 * 256 * 2;
  const Placements cut(Axis::tp, rows);
  EXPECT_EQ(message_bytes(CollectiveOp::all_gather, x, cut, Axis::tp, mesh).count(), all);
  EXPECT_EQ(
      message_bytes(CollectiveOp::reduce_scatter, x, Placements(Axis::tp, addend), Axis::tp, mesh)
          .count(),
      all);
  EXPECT_EQ(message_bytes(CollectiveOp::all_to_all, x, cut, Axis::tp, mesh).count(), all / 8);
}

TEST(Message, OtherAxesHaveAlreadyCutIt) {
  const Tensor x{"x", {{"tokens", 1024}, {"hidden", 256}}, {}};
  const Mesh mesh = Mesh().with(Axis::tp, 8).with(Axis::dp, 4);
  const Placements cut = Placements(Axis::tp, addend).with(Axis::dp, rows);
  EXPECT_EQ(message_bytes(CollectiveOp::all_reduce, x, cut, Axis::tp, mesh).count(),
            1024 / 4 * 256 * 2);
}

TEST(LocalPart, DividesTheDimensionThatIsCut) {
  const Tensor w{"w", {{"ffn", 4096}, {"hidden", 1024}}, {}};
  const Mesh mesh = Mesh().with(Axis::tp, 4);
  const Tensor part = local_part(w, Placements(Axis::tp, Placement::shard("ffn")), mesh);
  EXPECT_EQ(size_of(part, "ffn"), 1024);
  EXPECT_EQ(size_of(part, "hidden"), 1024);
  EXPECT_EQ(bytes_of(part).count() * 4, bytes_of(w).count());
}

TEST(LocalPart, RefusesWhatDoesNotDivide) {
  const Tensor w{"w", {{"ffn", 4098}}, {}};
  try {
    local_part(w, Placements(Axis::tp, Placement::shard("ffn")), Mesh().with(Axis::tp, 4));
    FAIL() << "4098 was cut into 4";
  } catch (const LayoutError& error) {
    EXPECT_STREQ(error.what(),
                 "w: dimension ffn of size 4098 cannot be cut into 4 equal parts on tp");
  }
}

TEST(TensorFormat, CountsScales) {
  EXPECT_EQ(bytes_of(TensorFormat{DType::bf16}, 1000).count(), 2000);
  // 1x128 blocks with an fp32 scale each: 1000 elements have 8 scales.
  EXPECT_EQ(bytes_of(TensorFormat{DType::fp8_e4m3, DType::fp32, 128}, 1000).count(), 1000 + 8 * 4);
  // MX: 32 elements share one 8-bit exponent.
  EXPECT_EQ(bytes_of(TensorFormat{DType::fp4_e2m1, DType::ue8m0, 32}, 1024).count(), 512 + 32);
  EXPECT_EQ(bytes_of(DType::fp4_e2m1, 3).count(), 2);
}

}  // namespace
}  // namespace weft::model
