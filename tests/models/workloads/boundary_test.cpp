// SPDX-License-Identifier: Apache-2.0
// Boundaries of one product and one collective.
#include "models/workloads/boundary.hpp"

#include <gtest/gtest.h>

#include "models/layouts/error.hpp"

namespace weft::model {
namespace {

const TensorFormat bf16;

TEST(MakeBoundary, EveryKindIsRecognisedAgain) {
  for (const BoundaryKind kind : every_boundary_kind) {
    const Boundary boundary = make_boundary(kind, {4096, 8192, 4096}, bf16, 8);
    EXPECT_EQ(kind_of(boundary), kind) << name_of(kind);
    EXPECT_EQ(boundary.name, name_of(kind));
    ASSERT_EQ(boundary.operators.size(), 1U);
    ASSERT_EQ(boundary.pairs.size(), 1U);
  }
}

TEST(MakeBoundary, AllGatherGemmGathersTheRowsOfX) {
  const Boundary boundary = make_boundary(BoundaryKind::ag_gemm, {8192, 28672, 8192}, bf16, 8);
  const MatmulWork& work = *matmul_of(boundary.operators[0]);
  EXPECT_EQ(work.rank, (MatmulShape{8192, 3584, 8192}));
  EXPECT_EQ(work.global, (MatmulShape{8192, 28672, 8192}));
  const BoundaryCollective& gather = boundary.collectives[0];
  EXPECT_EQ(gather.op, CollectiveOp::all_gather);
  EXPECT_EQ(gather.message.count(), 8192LL * 8192 * 2);
  EXPECT_EQ(gather.extent, (MatrixExtent{8192, 8192}));
  EXPECT_EQ(gather.from, MatrixDim::rows);
  EXPECT_EQ(gather.to, MatrixDim::none);
  EXPECT_EQ(relation_of(boundary, 0, 0), Relation::consumes);
}

TEST(MakeBoundary, GemmReduceScatterAndAllReduceShareTheirProduct) {
  const MatmulShape global{8192, 8192, 28672};
  const Boundary scatter = make_boundary(BoundaryKind::gemm_rs, global, bf16, 8);
  const Boundary reduce = make_boundary(BoundaryKind::gemm_ar, global, bf16, 8);
  EXPECT_EQ(matmul_of(scatter.operators[0])->rank, (MatmulShape{8192, 8192, 3584}));
  EXPECT_EQ(scatter.operators[0], reduce.operators[0]);
  EXPECT_EQ(scatter.collectives[0].message, reduce.collectives[0].message);
  EXPECT_EQ(scatter.collectives[0].to, MatrixDim::rows);
  EXPECT_EQ(reduce.collectives[0].to, MatrixDim::none);
}

TEST(MakeBoundary, GemmAllToAllTurnsRowsIntoColumns) {
  // K is far smaller than N/p: gathering X would send less, but X stays where it is.
  const Boundary boundary = make_boundary(BoundaryKind::gemm_a2a, {4096, 8192, 64}, bf16, 8);
  EXPECT_EQ(matmul_of(boundary.operators[0])->rank, (MatmulShape{512, 8192, 64}));
  const BoundaryCollective& turn = boundary.collectives[0];
  EXPECT_EQ(turn.op, CollectiveOp::all_to_all);
  EXPECT_EQ(turn.message.count(), 512 * 8192 * 2);
  EXPECT_EQ(turn.from, MatrixDim::rows);
  EXPECT_EQ(turn.to, MatrixDim::columns);
}

// X_r [128,1024] W_r [1024,2048]: the output has 128*2048 two-byte elements, 512 KiB; each of 4
// chunks of 32 rows 128 KiB.
TEST(MakeBoundary, OutputBytesOfTheWorkedExample) {
  const Boundary boundary = make_boundary(BoundaryKind::gemm_ar, {128, 2048, 1024 * 4}, bf16, 4);
  const Operator& gemm = boundary.operators[0];
  EXPECT_EQ(matmul_of(gemm)->rank, (MatmulShape{128, 2048, 1024}));
  EXPECT_EQ(gemm.written.count(), 512 << 10);
  EXPECT_EQ(gemm.written.count() / 4, 128 << 10);
  EXPECT_EQ(boundary.collectives[0].message, gemm.written);
}

TEST(MakeBoundary, ProductsOfEightBitsWriteSixteen) {
  const TensorFormat fp8{DType::fp8_e4m3, DType::fp32, 128};
  const Boundary boundary = make_boundary(BoundaryKind::ag_gemm, {1024, 1024, 1024}, fp8, 4);
  EXPECT_EQ(matmul_of(boundary.operators[0])->y.element, DType::bf16);
  // 1024 x 1024 bytes, and one fp32 scale for 128 of them.
  EXPECT_EQ(boundary.collectives[0].message.count(), 1024 * 1024 + 1024 * 1024 / 128 * 4);
}

TEST(MakeBoundary, RefusesWhatDoesNotDivideWithEveryReason) {
  try {
    make_boundary(BoundaryKind::ag_gemm, {1001, 1002, 64}, bf16, 8);
    FAIL();
  } catch (const LayoutError& error) {
    EXPECT_STREQ(
        error.what(),
        "ag_gemm: M = 1001 does not divide by 8 ranks; N = 1002 does not divide by 8 ranks");
  }
  EXPECT_THROW(make_boundary(BoundaryKind::gemm_ar, {1, 1, 0}, bf16, 8), LayoutError);
  EXPECT_THROW(make_boundary(BoundaryKind::gemm_ar, {8, 8, 8}, bf16, 1), LayoutError);
  EXPECT_NO_THROW(make_boundary(BoundaryKind::gemm_ar, {1001, 7, 64}, bf16, 8));
}

}  // namespace
}  // namespace weft::model
