// SPDX-License-Identifier: Apache-2.0
// The restrictions of published systems, each as the user reads it, and beside it the nearest case that is legal.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedules/example.hpp"
#include "tests/models/schedules/choices.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using enum BoundaryKind;

struct Where {
  std::string_view machine = "h200x8";
  int ranks = 8;
};

const Site& site_of(const Where& where) {
  static std::map<std::pair<std::string_view, int>, Site> sites;
  const std::pair key(where.machine, where.ranks);
  const auto found = sites.find(key);
  if (found != sites.end()) return found->second;
  return sites.emplace(key, test_site(std::string(where.machine) + ".json", where.ranks))
      .first->second;
}

Boundary of(BoundaryKind kind, const MatmulShape& shape, int ranks, DType element = DType::bf16) {
  TensorFormat format;
  format.element = element;
  return make_boundary(kind, shape, format, ranks);
}

// The same with other rows: what a layout would not cut evenly.
Boundary with_rows(Boundary boundary, std::int64_t rows) {
  boundary.collectives.front().extent.rows = rows;
  auto& work = std::get<MatmulWork>(boundary.operators.front().work);
  work.rank.m = work.global.m = rows;
  return boundary;
}

struct Rule {
  std::string schedule;
  std::vector<Set> knobs;
  Where where;
  Boundary broken;
  std::string text;
  std::optional<Boundary> legal;  ///< none: whatever its shape
  std::vector<Set> legal_knobs;   ///< in place of `knobs`, if there are any
};

void expect(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    const Site& site = site_of(rule.where);
    EXPECT_THAT(refusals_of(choice_of(rule.schedule, rule.knobs), rule.broken, site),
                Contains(HasSubstr(rule.text)))
        << rule.schedule;
    if (!rule.legal) continue;
    const auto& knobs = rule.legal_knobs.empty() ? rule.knobs : rule.legal_knobs;
    EXPECT_THAT(refusals_of(choice_of(rule.schedule, knobs), *rule.legal, site), IsEmpty())
        << rule.schedule << ", " << rule.text;
  }
}

constexpr std::int64_t one = 1, zero = 0;

TEST(Rules, OfFlux) {
  const Boundary gather = of(ag_gemm, {4096, 2048, 2048}, 8);
  const Boundary scatter = of(gemm_rs, {4096, 2048, 2048}, 8);
  const Boundary on_four = of(gemm_rs, {4096, 2048, 2048}, 4);
  expect({
      {"flux.ag_gemm", {}, {}, with_rows(gather, 4100), "a chunk is M / ranks rows", gather, {}},
      {"flux.ag_gemm",
       {},
       {},
       of(ag_gemm, {4096, 2048, 2044}, 8),
       "TMA moves pieces of 16 bytes: K must divide by 8 and N by 8, and they are 2044 and 256",
       gather,
       {}},
      {"flux.ag_gemm",
       {{"ring_mode", "ring2d"}},
       {"h200x8", 2},
       of(ag_gemm, {4096, 2048, 2048}, 2),
       "ring2d needs two halves of at least 2 ranks, and there are 2",
       of(ag_gemm, {4096, 2048, 2048}, 2),
       {{"ring_mode", "ring1d"}}},
      {"flux.gemm_rs",
       {},
       {"a100x8", 4},
       of(gemm_rs, {4096 + 64, 2048, 2048}, 4),
       "M must divide by tile_M x ranks = ",
       on_four,
       {}},
      {"flux.gemm_rs",
       {},
       {"a100x8", 4},
       of(gemm_rs, {4096, 2048 + 40, 2048}, 4),
       "N must divide by tile_N = ",
       on_four,
       {}},
      {"flux.gemm_rs",
       {},
       {},
       of(gemm_rs, {4096, 2048 + 8, 2048}, 8),
       "N must divide by the tile_N of a kernel",
       scatter,
       {}},
      {"flux.gemm_rs", {}, {}, with_rows(scatter, 4100), "M must divide by the ranks", scatter, {}},
      {"flux.gemm_rs",
       {{"fuse_reduction", one}},
       {"a100x8", 4},
       on_four,
       "a fused reduction of bf16 needs the bulk adds of sm_90",
       of(gemm_rs, {4096, 2048, 2048}, 4, DType::fp16),
       {}},
      {"flux.gemm_rs",
       {},
       {"h200x8", 6},
       of(gemm_rs, {3072, 1536, 1536}, 6),
       "the order r XOR t needs a power of two of at most 8 ranks",
       std::nullopt,
       {}},
  });
}

TEST(Rules, OfTransformerEngine) {
  const Boundary gather = of(ag_gemm, {4096, 2048, 2048}, 8);
  const Boundary scatter = of(gemm_rs, {4096, 2048, 2048}, 8);
  const Boundary beside = with_wgrad(of(gemm_rs, {4096, 2048, 2048}, 4), Relation::independent);
  expect({
      {"te.ring_exchange",
       {{"aggregate", one}},
       {},
       scatter,
       "aggregate joins two chunks of an all-gather",
       gather,
       {}},
      {"te.ring_exchange",
       {{"aggregate", one}},
       {"h200x8", 3},
       of(ag_gemm, {3072, 1536, 1536}, 3),
       "aggregate pairs ranks up, and 3 is odd",
       of(ag_gemm, {3072, 1536, 1536}, 3),
       {{"aggregate", zero}}},
      {"te.ring_exchange",
       {},
       {},
       with_rows(gather, 4100),
       "sequence parallelism cuts 4100 tokens into 8 equal parts, and they do not divide",
       gather,
       {}},
      {"te.pipeline",
       {{"num_splits", std::int64_t{8}}},
       {},
       of(gemm_rs, {4096, 2044, 2048}, 8),
       "pipeline cuts 2044 output features into 8 equal parts",
       scatter,
       {}},
      {"te.bulk",
       {},
       {"a100x8", 4},
       beside,
       "a launch completion event needs Hopper or later, and this is sm_80",
       beside,
       {{"launch_completion_event", zero}}},
      {"te.bulk",
       {},
       {},
       scatter,
       "bulk overlaps a product with a collective that is unrelated",
       with_wgrad(scatter, Relation::independent),
       {}},
      {"te.atomic_gemm",
       {},
       {},
       of(ag_gemm, {4096, 2048, 2040}, 8, DType::fp8_e4m3),
       "FP8 products need K and N that divide by 16, and they are 2040 and 256",
       of(ag_gemm, {4096, 2048, 2048}, 8, DType::fp8_e4m3),
       {}},
  });
}

TEST(Rules, OfKernelsForOneKindOfNode) {
  const Boundary gather = of(ag_gemm, {4096, 2048, 2048}, 8);
  const Boundary scatter = of(gemm_rs, {4096, 2048, 2048}, 8);
  const Boundary all = of(gemm_ar, {4096, 2048, 2048}, 8);
  expect({
      {"device_flag",
       {},
       {},
       of(gemm_rs, {4096, 2048, 2048}, 8, DType::fp8_e4m3),
       "the shipped kernels multiply bf16, and this is fp8_e4m3",
       scatter,
       {}},
      {"parallelkittens.ag_gemm",
       {},
       {},
       of(ag_gemm, {4096 + 1024, 2048, 2048}, 8),
       "M must divide by 2048 (ROW_BLOCK x NUM_DEVICES), and is 5120",
       gather,
       {}},
      {"parallelkittens.gemm_rs",
       {},
       {},
       of(gemm_rs, {4096 + 512, 2048, 2048}, 8),
       "M must divide by 1024 (ROW_BLOCK x NUM_DEVICES), and is 4608",
       scatter,
       {}},
      {"parallelkittens.gemm_rs",
       {},
       {},
       of(gemm_rs, {4096, 2048, 1024}, 8),
       "N must divide by COL_BLOCK = 256 and K by four RED_BLOCKs = 256, and they are 2048 and 128",
       scatter,
       {}},
      {"parallelkittens.gemm_ar",
       {},
       {"a100x8", 8},
       all,
       "the kernels address a switch that multicasts and reduces",
       std::nullopt,
       {}},
      {"cutlass.distributed_gemm",
       {},
       {"h200x8x2", 16},
       of(gemm_rs, {4096, 2048, 2048}, 16),
       "it needs any-to-any NVLink between the ranks of one node",
       std::nullopt,
       {}},
      {"cutlass.distributed_gemm",
       {},
       {},
       of(gemm_rs, {4096, 2044, 2048}, 8),
       "K must divide by 8 and N by 8, and they are 256 and 2044",
       scatter,
       {}},
      {"flashoverlap",
       {},
       {"a100x8", 4},
       of(gemm_rs, {4096, 2048 + 64, 2048}, 4),
       "M and N must divide by 128, and are 4096 and 2112",
       of(gemm_rs, {4096, 2048, 2048}, 4),
       {}},
      {"flashoverlap",
       {},
       {"a100x8", 4},
       of(gemm_rs, {4096, 2048, 4 * 500}, 4),
       "cp.async moves pieces of 16 bytes: K must divide by 8 and N by 8",
       of(gemm_rs, {4096, 2048, 4 * 504}, 4),
       {}},
      {"triton_distributed.gemm_rs",
       {{"fuse_scatter", one}},
       {"h200x8x2", 16},
       of(gemm_rs, {4096, 2048, 2048}, 16),
       "fuse_scatter does not support multi node",
       of(gemm_rs, {4096, 2048, 2048}, 16),
       {{"fuse_scatter", zero}}},
      {"triton_distributed.gemm_rs",
       {{"fuse_scatter", one}},
       {},
       of(gemm_rs, {8 * 24, 2048, 2048}, 8),
       "fuse_scatter stores whole tiles at their owners: 24 rows a rank do not divide by BLOCK_M",
       scatter,
       {}},
  });
}

TEST(Rules, OfCublasMpAndMc2) {
  const Boundary scatter = of(gemm_rs, {4096, 2048, 2048}, 4);
  const Boundary six = of(gemm_rs, {3072, 1536, 1536}, 6);
  expect({
      {"cublasmp.matmul_rs",
       {{"algo", "split_multicast"}},
       {"a100x8", 4},
       scatter,
       "multicast needs a switch that multicasts and reduces, and these ranks have none",
       scatter,
       {{"algo", "split_p2p"}}},
      {"cublasmp.matmul_rs",
       {},
       {"l20x8", 4},
       scatter,
       "its workspace is symmetric memory of one NVLink domain: 4 ranks on 1 nodes run no_overlap",
       std::nullopt,
       {}},
      {"mc2.matmul_reduce_scatter",
       {},
       {"ascend910x8", 6},
       six,
       "MC2 takes 2, 4 or 8 ranks, and these are 6",
       std::nullopt,
       {}},
      {"mc2.matmul_reduce_scatter",
       {},
       {"ascend910x8", 4},
       of(gemm_rs, {4096, 2048, 2048}, 4, DType::int8),
       "MC2 takes fp16 or bf16, and this is int8",
       scatter,
       {}},
      {"mc2.matmul_reduce_scatter",
       {{"turns", std::int64_t{8}}},
       {"ascend910x8", 4},
       of(gemm_rs, {16, 2048, 2048}, 4),
       "8 turns of 4 rows of a rank leave turns empty",
       scatter,
       {}},
  });
}

// One assumption a machine: where NCCL was measured without peer access, nobody has it, and only NCCL communicates; where
// others copy between peers, NCCL does, too, and no faster than they.
TEST(Rules, PeerAccessIsForAllOrForNobody) {
  const Boundary gather = of(ag_gemm, {4096, 2048, 2048}, 4),
                 all = of(gemm_ar, {4096, 2048, 2048}, 4);
  const Site &without = site_of({"l40sx8", 4}), &with = site_of({"l20x8", 4});
  for (const char* name :
       {"flux.ag_gemm", "triton_distributed.ag_gemm", "torch.async_tp", "chunked", "device_flag"}) {
    EXPECT_THAT(refusals_of(choice_of(name), gather, without),
                Contains(HasSubstr("these GPUs have no peer access")))
        << name;
    EXPECT_THAT(refusals_of(choice_of(name), gather, with), Not(Contains(HasSubstr("access"))))
        << name;
  }
  EXPECT_THAT(refusals_of(choice_of("nccl.serial"), gather, without), IsEmpty());
  EXPECT_THAT(refusals_of(choice_of("flashoverlap"), all, without), IsEmpty());
  const Bandwidth copies = with.profile.copy_engine(CopyPath::to_peer).duplex_rate.value;
  for (const ProtocolCosts& costs : with.profile.collectives) {
    EXPECT_LE(costs.rate.value, copies);
    EXPECT_FALSE(costs.shared);
  }
}

// Hopper's kernel pads a rank's rows to whole tiles: what is added is multiplied and fetched, after a copy of the input.
TEST(Rules, FluxPadsRowsOnHopperInsteadOfRefusing) {
  const Site& site = site_of({});
  const ScheduleChoice choice = choice_of("flux.gemm_rs");
  const auto fetched = [&](std::int64_t rows) {
    const sim::Program program =
        boundary_program(of(gemm_rs, {8 * rows, 2048, 2048}, 8), choice, site);
    Bytes bytes;
    for (const sim::Role& role : program.roles) {
      for (std::uint32_t i = 0; i < role.ranges.count; ++i) {
        const sim::TileRange& range = program.ranges[role.ranges.first + i];
        for (std::uint32_t t = 0; t < range.traffic.count; ++t) {
          const sim::Traffic& traffic = program.traffic[range.traffic.first + t];
          if (traffic.on == sim::Traffic::On::route) bytes += traffic.bytes * range.tiles;
        }
      }
    }
    return bytes;
  };
  ASSERT_THAT(refusals_of(choice, of(gemm_rs, {8 * 500, 2048, 2048}, 8), site), IsEmpty());
  EXPECT_EQ(fetched(512), Bytes::from(8 * 7 * 512 * 2048 * 2));
  EXPECT_GE(fetched(500), Bytes::from(8 * 7 * 500 * 2048 * 2));
  const auto time = [&](std::int64_t rows) {
    return overlapped_only(of(gemm_rs, {8 * rows, 2048, 2048}, 8), choice, site, {}).overlapped;
  };
  EXPECT_GT(time(500), time(512));
}

}  // namespace
}  // namespace weft::model
