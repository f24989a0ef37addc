// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism of an MLP: what each pairing of cuts must send, from the algebra alone.
#include "tests/models/layouts/mlp.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace weft::model {
namespace {

using test::Cut;
using test::make_mlp;
using test::Mlp;
using test::MlpSizes;

std::vector<CollectiveOp> collectives(const Derivation& derivation, bool backward) {
  std::vector<CollectiveOp> ops;
  for (const Conversion& conversion : derivation.conversions) {
    if (conversion.op && conversion.backward == backward) ops.push_back(*conversion.op);
  }
  return ops;
}

/// Wire bytes a rank in units of b*s*h*(p-1)/p two-byte elements.
double units(const Derivation& derivation, const MlpSizes& sizes, int ranks) {
  const double unit = 2.0 * static_cast<double>(sizes.tokens * sizes.hidden) * (ranks - 1) / ranks;
  return static_cast<double>(wire_bytes(derivation).count()) / unit;
}

Derivation derive_mlp(Cut first, Cut second, int ranks, const MlpSizes& sizes = {}) {
  const Mlp mlp = make_mlp(first, second, sizes, {});
  return derive(mlp.flow, Mesh().with(Axis::tp, ranks), {.keep_gathered = true});
}

// X, Y, dX, dY whole; the middle tensor is 4h wide, so gathering or scattering it costs 4 units,
// reducing it 8; the same for an h-wide tensor costs 1 and 2.
//   column-row      forward: reduce Y 2;                    backward: reduce dX 2.
//     4
//   column-column   gather Z 4, gather Y 1;                 scatter dZ 4, reduce dX 2.
//    11
//   row-row         scatter Z 4, reduce Y 2;                gather dZ 4, gather dX 1.
//    11
//   row-column      reduce Z 8, gather Y 1;                 reduce dZ 8, gather dX 1.
//    18
TEST(MlpPairing, ColumnRowSendsFourUnits) {
  for (const int p : {2, 4, 8, 16}) {
    EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::column, Cut::row, p), {}, p), 4.0) << "p=" << p;
  }
}

TEST(MlpPairing, ColumnColumnSendsElevenUnits) {
  for (const int p : {2, 4, 8, 16}) {
    EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::column, Cut::column, p), {}, p), 11.0) << "p=" << p;
  }
}

TEST(MlpPairing, RowRowSendsElevenUnits) {
  for (const int p : {2, 4, 8, 16}) {
    EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::row, Cut::row, p), {}, p), 11.0) << "p=" << p;
  }
}

TEST(MlpPairing, RowColumnSendsEighteenUnits) {
  for (const int p : {2, 4, 8, 16}) {
    EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::row, Cut::column, p), {}, p), 18.0) << "p=" << p;
  }
}

// If the middle tensor were as narrow as X, every pairing would cost what the widespread table
// says: it counts h for the middle tensor too.
TEST(MlpPairing, TheWidespreadTableForgetsTheWidthOfTheMiddle) {
  const MlpSizes narrow{4096, 8192, 8192};
  EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::column, Cut::row, 8, narrow), narrow, 8), 4.0);
  EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::column, Cut::column, 8, narrow), narrow, 8), 5.0);
  EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::row, Cut::row, 8, narrow), narrow, 8), 5.0);
  EXPECT_DOUBLE_EQ(units(derive_mlp(Cut::row, Cut::column, 8, narrow), narrow, 8), 6.0);
}

TEST(MlpPairing, ColumnRowReducesOnceEachWay) {
  const Derivation derivation = derive_mlp(Cut::column, Cut::row, 4);
  EXPECT_EQ(collectives(derivation, false), std::vector{CollectiveOp::all_reduce});
  EXPECT_EQ(collectives(derivation, true), std::vector{CollectiveOp::all_reduce});
}

// Megatron's f and g: the gather before fc1 and the scatter after fc2 together send what the
// all-reduce did; backward gathers dY, scatters dX, and gathers X once more because only its shard
// was saved.
TEST(MlpPairing, SequenceParallelSplitsEachAllReduceInTwo) {
  const MlpSizes sizes;
  const Placements shards(Axis::tp, Placement::shard("tokens"));
  const Mesh mesh = Mesh().with(Axis::tp, 4);
  const Mlp mlp = make_mlp(Cut::column, Cut::row, sizes, shards, false);
  const Derivation forward = derive(mlp.flow, mesh);
  EXPECT_EQ(collectives(forward, false),
            (std::vector{CollectiveOp::all_gather, CollectiveOp::reduce_scatter}));
  EXPECT_DOUBLE_EQ(units(forward, sizes, 4), 2.0);

  const Mlp both = make_mlp(Cut::column, Cut::row, sizes, shards);
  const Derivation saved_gathered = derive(both.flow, mesh, {.keep_gathered = true});
  EXPECT_EQ(collectives(saved_gathered, true),
            (std::vector{CollectiveOp::all_gather, CollectiveOp::reduce_scatter}));
  EXPECT_DOUBLE_EQ(units(saved_gathered, sizes, 4), 4.0);

  const Derivation saved_shards = derive(both.flow, mesh);
  EXPECT_DOUBLE_EQ(units(saved_shards, sizes, 4), 5.0);
}

// Two weights of 8192 x 32768 bf16 elements, cut four ways: 2*8192*32768*2/4 B = 256 MiB a rank.
TEST(MlpPairing, WeightsOfTheWorkedExampleTake256MiBARank) {
  const Mlp mlp = make_mlp(Cut::column, Cut::row, {}, {}, false);
  Bytes sum;
  for (std::uint32_t i = 0; i < mlp.flow.values(); ++i) {
    const Value& value = mlp.flow.value(TensorId(i));
    if (!value.weight) continue;
    sum += bytes_of(local_part(value.tensor, *value.placed, Mesh().with(Axis::tp, 4)));
  }
  EXPECT_EQ(sum.count(), 256LL << 20);
}

TEST(MlpPairing, TheMessageOfTheWorkedExample) {
  const Mlp mlp = make_mlp(Cut::column, Cut::row, {}, {}, false);
  const Derivation derivation = derive(mlp.flow, Mesh().with(Axis::tp, 4));
  ASSERT_EQ(derivation.conversions.size(), 1U);
  EXPECT_EQ(derivation.conversions[0].message.count(), 67'108'864);
  EXPECT_EQ(wire_bytes(derivation).count(), 100'663'296);
}

TEST(MlpPairing, OneRankSendsNothing) {
  for (const Cut first : {Cut::column, Cut::row}) {
    for (const Cut second : {Cut::column, Cut::row}) {
      const Derivation derivation = derive_mlp(first, second, 1);
      EXPECT_TRUE(derivation.conversions.empty());
    }
  }
}

}  // namespace
}  // namespace weft::model
