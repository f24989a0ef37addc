// SPDX-License-Identifier: Apache-2.0
// What tells each published schedule from the others, read off its program or its run.
#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/planner/evaluate.hpp"
#include "models/planner/search.hpp"
#include "models/schedules/delivery.hpp"
#include "models/schedules/example.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/registry.hpp"
#include "tests/models/schedules/choices.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Boundary boundary_of(BoundaryKind kind, int ranks) {
  return make_boundary(kind, {512L * ranks, 2048, 2048}, {}, ranks);
}

// The calls of one kind that rank 0's host makes, in order.
template <class Call>
std::vector<Call> calls_of(const sim::Program& program) {
  std::vector<Call> calls;
  for (const sim::Command& command : program.threads.front().commands) {
    if (const auto* call = std::get_if<Call>(&command.call)) calls.push_back(*call);
  }
  return calls;
}

std::string label_of(const sim::Program& program, const sim::Launch& launch) {
  return program.labels[program.kernels[launch.kernel.value()].label.value()];
}

Duration time_of(const ScheduleChoice& choice, const Boundary& boundary, const Site& site) {
  return overlapped_only(boundary, choice, site, {}).overlapped;
}

TEST(Flux, PullsStrictlyInTurnOnOneStream) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program =
      boundary_program(boundary_of(BoundaryKind::ag_gemm, 8), choice_of("flux.ag_gemm"), site);
  std::set<std::uint32_t> streams, engines;
  int pulls = 0;
  for (const sim::Copy& copy : calls_of<sim::Copy>(program)) {
    if (copy.route == site.built.unicast[0][0]) continue;  // its own shard
    ++pulls;
    streams.insert(copy.stream.value());
    engines.insert(copy.engine);
  }
  EXPECT_EQ(pulls, 7);
  EXPECT_EQ(streams.size(), 1U);
  EXPECT_EQ(engines.size(), 1U);
}

TEST(Flux, FetchesTilesWithAWarpOfTheProductsOwnCtas) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program =
      boundary_program(boundary_of(BoundaryKind::gemm_rs, 8), choice_of("flux.gemm_rs"), site);
  int warp_groups = 0;
  for (const sim::Role& role : program.roles)
    warp_groups += role.scope == sim::Role::Scope::warp_group ? 1 : 0;
  EXPECT_EQ(warp_groups, 8);
  EXPECT_THAT(refusals_of(choice_of("flux.gemm_rs"),
                          make_boundary(BoundaryKind::gemm_rs, {3072, 1536, 1536}, {}, 6),
                          test_site("h200x8.json", 6)),
              testing::Contains(HasSubstr("power of two")));
}

TEST(TransformerEngine, RingReducesInATailOnTheComputeStream) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program =
      boundary_program(boundary_of(BoundaryKind::gemm_rs, 8), choice_of("te.ring_exchange"), site);
  const auto launches = calls_of<sim::Launch>(program);
  EXPECT_THAT(label_of(program, launches.back()), testing::EndsWith(".add"));
  EXPECT_EQ(launches.back().stream, sim::StreamId(0));
}

TEST(TransformerEngine, PipelineSplitsFeaturesAndNotTokens) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = boundary_of(BoundaryKind::gemm_rs, 8);
  const ScheduleChoice choice = choice_of("te.pipeline");
  const auto transfers = choice.schedule->transfers(boundary, choice.knobs, site).front();
  for (const Transfer& each : transfers) {
    EXPECT_EQ(each.block.columns, 2048 / 4);
    EXPECT_EQ(each.block.rows, 512);
  }
  EXPECT_THAT(refusals_of(choice, boundary_of(BoundaryKind::ag_gemm, 8), site),
              Each(HasSubstr("fuses reduce_scatter")));
}

TEST(TransformerEngine, OverlapsOnlyUnderSequenceParallelismInOneNvlinkDomain) {
  EXPECT_THAT(refusals_of(choice_of("te.ring_exchange"), boundary_of(BoundaryKind::gemm_ar, 8),
                          test_site("h200x8.json", 8)),
              testing::Not(IsEmpty()));
  EXPECT_THAT(refusals_of(choice_of("te.ring_exchange"), boundary_of(BoundaryKind::ag_gemm, 8),
                          test_site("l20x8.json", 8)),
              Each(HasSubstr("NVLink domain")));
}

// A persistent product whose grid counts on SMs that the collective holds starts those CTAs only when the others leave:
// the library's have one tile each left to do then, and no margin costs little.
TEST(TransformerEngine, BulkWithoutAMarginPaysATileAndNoSecondWave) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = with_wgrad(
      make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 65536}, {}, 8), Relation::independent);
  const auto with = [&](std::int64_t margin) {
    return time_of(choice_of("te.bulk", {{"set_sm_margin", margin}, {"num_sm", std::int64_t{8}}}),
                   boundary, site);
  };
  EXPECT_NEAR(ratio(with(0), with(1)), 1, 0.1);
}

// A collective that comes second waits for the end of a product without a margin; one that comes first does not.
TEST(TransformerEngine, BulkWithoutAMarginRunsOneAfterTheOtherWhereTheProductComesFirst) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = with_wgrad(
      make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 65536}, {}, 8), Relation::independent);
  const auto figures = [&](std::int64_t margin, std::int64_t event) {
    return evaluate(boundary,
                    choice_of("te.bulk", {{"set_sm_margin", margin},
                                          {"launch_completion_event", event},
                                          {"num_sm", std::int64_t{8}}}),
                    site, {});
  };
  const Figures behind = figures(0, 0), before = figures(0, 1), beside = figures(1, 1);
  const Duration one_by_one = behind.schedule_compute_only + behind.schedule_communication_only;
  EXPECT_GE(ratio(behind.overlapped, one_by_one), 0.95);
  EXPECT_LT(beside.overlapped, behind.overlapped);
  EXPECT_LT(before.overlapped, behind.overlapped);
}

// NVLS of one half of an all-reduce: the message once over a port, and less than both halves take.
TEST(Nccl, TheSwitchGathersAndScattersInHalfOfAnAllReduce) {
  const Site site = test_site("h200x8.json", 8);
  const ScheduleChoice nvls = choice_of("nccl.serial", {{"NCCL_ALGO", std::string("nvls")}});
  for (const BoundaryKind kind : {BoundaryKind::ag_gemm, BoundaryKind::gemm_rs}) {
    ASSERT_THAT(refusals_of(nvls, boundary_of(kind, 8), site), IsEmpty());
    EXPECT_GT(time_of(nvls, boundary_of(kind, 8), site), Duration());
  }
  EXPECT_THAT(refusals_of(nvls, boundary_of(BoundaryKind::gemm_rs, 8), test_site("a100x8.json", 8)),
              testing::Not(IsEmpty()));
}

TEST(TransformerEngine, AtomicGemmIsForFp8Only) {
  const Site site = test_site("h200x8.json", 8);
  EXPECT_THAT(refusals_of(choice_of("te.atomic_gemm"), boundary_of(BoundaryKind::ag_gemm, 8), site),
              Each(HasSubstr("FP8 only")));
  TensorFormat fp8;
  fp8.element = DType::fp8_e4m3;
  const Boundary small = make_boundary(BoundaryKind::ag_gemm, {4096, 2048, 2048}, fp8, 8);
  const ScheduleChoice choice = choice_of("te.atomic_gemm");
  ASSERT_THAT(refusals_of(choice, small, site), IsEmpty());
  EXPECT_GT(time_of(choice, small, site), Duration());
}

TEST(TransformerEngine, ExternalNeedsAWgradOfWhatIsGathered) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary plain = boundary_of(BoundaryKind::ag_gemm, 8);
  EXPECT_THAT(refusals_of(choice_of("te.external"), plain, site), Each(HasSubstr("wgrad")));
  EXPECT_THAT(refusals_of(choice_of("te.external"), with_wgrad(plain, Relation::consumes), site),
              IsEmpty());
}

TEST(Nccl, CopyEnginesGatherWithoutAnyCtaAndDoNotReduce) {
  const Site site = test_site("h200x8.json", 8);
  const ScheduleChoice choice =
      choice_of("nccl.serial",
                {{"registered", std::string("window")}, {"NCCL_CTA_POLICY", std::string("zero")}});
  EXPECT_TRUE(boundary_program(boundary_of(BoundaryKind::ag_gemm, 8), choice, site).gangs.empty());
  EXPECT_THAT(refusals_of(choice, boundary_of(BoundaryKind::gemm_rs, 8), site),
              Each(HasSubstr("copy engines do not reduce")));
}

TEST(Torch, AlternatesCopiesBetweenTwoStreams) {
  const Site site = test_site("h200x8.json", 4);
  const sim::Program program =
      boundary_program(boundary_of(BoundaryKind::ag_gemm, 4), choice_of("torch.async_tp"), site);
  std::vector<std::uint32_t> streams;
  for (const sim::Copy& copy : calls_of<sim::Copy>(program)) streams.push_back(copy.stream.value());
  ASSERT_EQ(streams.size(), 4U);  // its own shard, then three pulls
  EXPECT_NE(streams[1], streams[2]);
  EXPECT_EQ(streams[1], streams[3]);
}

TEST(Torch, OneShotBringsEveryPartialToEveryRank) {
  const Site site = test_site("h200x8.json", 4);
  const Boundary boundary = boundary_of(BoundaryKind::gemm_ar, 4);
  const auto ports = [&](const char* kernel) {
    const ScheduleChoice choice =
        choice_of("torch.symm_mem_all_reduce", {{"kernel", std::string(kernel)}});
    return port_bytes(boundary.collectives.front(),
                      choice.schedule->transfers(boundary, choice.knobs, site).front())
        .front()
        .ingress;
  };
  EXPECT_EQ(ports("one_shot"), boundary.collectives.front().message * 3);
  EXPECT_EQ(ports("two_shot") * 2, boundary.collectives.front().message * 3);
}

TEST(Cutlass, LaunchesItsStagesProgrammatically) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program = boundary_program(boundary_of(BoundaryKind::ag_gemm, 8),
                                                choice_of("cutlass.distributed_gemm"), site);
  int programmatic = 0;
  for (const sim::Launch& launch : calls_of<sim::Launch>(program))
    programmatic += launch.programmatic ? 1 : 0;
  EXPECT_EQ(programmatic, 7);
}

TEST(ParallelKittens, ReduceScatterIsStoresOfTheEpilogueAlone) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program = boundary_program(boundary_of(BoundaryKind::gemm_rs, 8),
                                                choice_of("parallelkittens.gemm_rs"), site);
  EXPECT_THAT(calls_of<sim::Copy>(program), IsEmpty());
  EXPECT_TRUE(program.gangs.empty());
  for (const sim::Role& role : program.roles) EXPECT_NE(role.purpose, sim::Purpose::communication);
  EXPECT_THAT(refusals_of(choice_of("parallelkittens.gemm_rs"),
                          boundary_of(BoundaryKind::gemm_rs, 4), test_site("h200x8.json", 4)),
              Each(HasSubstr("NUM_DEVICES = 8")));
}

TEST(ParallelKittens, SendersAreCtasOfTheProductsKernel) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program = boundary_program(boundary_of(BoundaryKind::ag_gemm, 8),
                                                choice_of("parallelkittens.ag_gemm"), site);
  std::vector<int> senders;
  for (const sim::Role& role : program.roles) {
    if (role.purpose == sim::Purpose::communication) senders.push_back(role.ctas);
  }
  EXPECT_EQ(senders, std::vector<int>(8, 8));
}

// In one node a copy engine scatters the blocks, and the product keeps all SMs.
TEST(TritonDistributed, ScattersByCopyEngineBesideAProductOnAllSms) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = boundary_of(BoundaryKind::gemm_rs, 8);
  const ScheduleChoice choice = choice_of("triton_distributed.gemm_rs");
  const sim::Program program = boundary_program(boundary, choice, site);
  EXPECT_EQ(calls_of<sim::Copy>(program).size(), 8U);  // seven to peers, its own one last
  for (const sim::Role& role : program.roles) EXPECT_NE(role.scope, sim::Role::Scope::warp_group);
  EXPECT_EQ(choice.schedule->normalised(boundary, choice.knobs, site), choice.knobs);
  EXPECT_TRUE(program.gangs.empty());
}

// FLUX's warps fetch a part, pass it on and only then ask for the next: the link rests, and where the product is short
// the whole takes longer than one after the other by a library.
TEST(Flux, FetchesOnePartAtATimeAndLosesBesideShortProducts) {
  const Site site = test_site("h800x8.json", 8);
  const auto gain = [&](std::int64_t k) {
    const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 4096, k}, {}, 8);
    return ratio(time_of(choice_of("serial"), boundary, site),
                 time_of(choice_of("flux.gemm_rs"), boundary, site));
  };
  EXPECT_LT(gain(8192), 1);
  EXPECT_GT(gain(65536), 1);
}

TEST(FlashOverlap, SpinsOnceAGroupBeforeItsCollective) {
  const Site site = test_site("a100x8.json", 4);
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 4096}, {}, 4);
  const ScheduleChoice choice = choice_of("flashoverlap");
  const auto nomination = choice.schedule->nominate(boundary, site);
  ASSERT_TRUE(nomination);
  EXPECT_LE(nomination->points.size(), most_nominated);
  EXPECT_GT(nomination->considered, static_cast<std::int64_t>(most_nominated));
  for (const Knobs& knobs : nomination->points) {
    const sim::Program program = boundary_program(boundary, {choice.schedule, knobs}, site);
    std::size_t spins = 0;
    for (const sim::Launch& launch : calls_of<sim::Launch>(program))
      spins += label_of(program, launch) == "spin" ? 1U : 0U;
    EXPECT_EQ(spins, program.gangs.size());
  }
  EXPECT_THAT(refusals_of(choice, boundary, test_site("h200x8.json", 4)), Each(HasSubstr("sm_90")));
}

// NCCL is called as it is: each group goes with the channels and at the rate of the library's own choice. On its own
// machine, where product and all-reduce take about as long, that wins.
TEST(FlashOverlap, LeavesNcclItsChannelsAndWinsOnA100) {
  const Site site = test_site("a100x8.json", 8);
  const Boundary boundary = make_boundary(BoundaryKind::gemm_ar, {8192, 8192, 8 * 4096}, {}, 8);
  const BoundaryCollective& collective = boundary.collectives.front();
  SearchOptions options;
  options.schedules = {"flashoverlap"};
  const BoundarySearch found = search(boundary, site, {}, options);
  const auto own = std::find_if(found.best.begin(), found.best.end(), [](const Candidate& each) {
    return each.choice.schedule->info().name == "flashoverlap";
  });
  ASSERT_NE(own, found.best.end());
  EXPECT_LT(own->figures.overlapped, found.serial.figures.overlapped);
  const sim::Program program = boundary_program(boundary, own->choice, site);
  ASSERT_GT(program.gangs.size(), 1U);
  for (const sim::Kernel& kernel : program.kernels) {
    if (!kernel.gang) continue;
    const Bytes bytes = program.gangs[kernel.gang->value()].bytes;
    EXPECT_EQ(kernel.ctas, site.prices->library(problem_of(collective, site), bytes).ctas);
  }
}

TEST(Search, CountsWhatAPredictorNominated) {
  const Site site = test_site("a100x8.json", 4);
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 4096}, {}, 4);
  SearchOptions options;
  options.schedules = {"flashoverlap"};
  const BoundarySearch found = search(boundary, site, {}, options);
  ASSERT_EQ(found.nominations.size(), 1U);
  EXPECT_EQ(found.nominations.front().taken, 32);
  EXPECT_EQ(found.count.space, found.count.simulated + found.count.equivalent + found.count.pruned);
}

// As a model of costs FlashOverlap's predictor has the last word: its favourite is the only point.
TEST(Search, TakesThePredictorsFavouriteAloneAsAModelOfCosts) {
  Site site = test_site("a100x8.json", 4);
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 4096}, {}, 4);
  SearchOptions options;
  options.schedules = {"flashoverlap"};
  const auto nomination = find_schedule("flashoverlap")->nominate(boundary, site);
  ASSERT_TRUE(nomination);
  site.prices = std::make_shared<Prices>(site.profile, site.fabric, CostModel::flashoverlap);
  const BoundarySearch found = search(boundary, site, {}, options);
  ASSERT_EQ(found.nominations.size(), 1U);
  EXPECT_EQ(found.nominations.front().taken, 1);
  EXPECT_EQ(found.nominations.front().expected, nomination->expected);
  for (const Candidate& each : found.best) {
    if (each.choice.schedule->info().name == "flashoverlap") {
      EXPECT_EQ(each.choice.knobs, nomination->points.front());
    }
  }
}

TEST(Mc2, CommunicatesByTheHcclServer) {
  const Site site = test_site("ascend910x8.json", 4);
  const sim::Program program =
      boundary_program(make_boundary(BoundaryKind::gemm_rs, {2048, 1024, 1024}, {}, 4),
                       choice_of("mc2.matmul_reduce_scatter"), site);
  const auto copies = calls_of<sim::Copy>(program);
  ASSERT_THAT(copies, testing::Not(IsEmpty()));
  const sim::Machine& machine = site.built.machine;
  for (const sim::Copy& copy : copies) {
    EXPECT_EQ(machine.device(machine.ranks.front().device).engines.at(copy.engine).kind,
              sim::EngineKind::ccu);
  }
  EXPECT_THAT(refusals_of(choice_of("mc2.matmul_reduce_scatter"),
                          boundary_of(BoundaryKind::gemm_rs, 4), test_site("h200x8.json", 4)),
              Each(HasSubstr("no kernels for sm_90")));
}

TEST(CublasMp, NoOverlapIsTheSerialProgram) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = boundary_of(BoundaryKind::ag_gemm, 8);
  EXPECT_EQ(
      boundary_program(
          boundary, choice_of("cublasmp.ag_matmul", {{"algo", std::string("no_overlap")}}), site),
      boundary_program(boundary, choice_of("serial"), site));
}

// `weft schedules NAME` draws a schedule on the first example that it takes: what overlaps shows there.
TEST(EverySchedule, ShowsItsOverlapInItsExample) {
  std::set<std::string> shown, serial;
  for (const char* machine : {"h200x8.json", "a100x8.json", "ascend910x8.json"}) {
    const Site site = test_site(machine, 8);
    for (const Schedule* schedule : all_schedules()) {
      if (shown.contains(schedule->info().name)) continue;
      const auto boundary = example_of(*schedule, {8192, 8192, 8192}, site);
      if (!boundary) continue;
      const Knobs knobs = schedule->normalised(*boundary, Knobs(schedule->info().knobs), site);
      if (!schedule->overlaps(*boundary, knobs, site)) {
        serial.insert(schedule->info().name);
        continue;
      }
      shown.insert(schedule->info().name);
      const Figures figures = evaluate(*boundary, {schedule, knobs}, site, {});
      const Duration compute = figures.schedule_compute_only,
                     communication = figures.schedule_communication_only;
      EXPECT_LT(figures.overlapped, compute + communication - std::min(compute, communication) / 10)
          << schedule->info().name << ": " << compute.ps() << " and " << communication.ps();
    }
  }
  EXPECT_THAT(serial, ElementsAre("nccl.serial", "serial", "torch.symm_mem_all_reduce"));
  EXPECT_EQ(shown.size() + serial.size(), all_schedules().size());
}

// The server sends the sums of a turn back while the cores compute the next: it does not keep them all for one
// gather at the end.
TEST(Mc2, AllReducesATurnUnderTheNextTurnsProduct) {
  const Site site = test_site("ascend910x8.json", 4);
  const Boundary boundary = make_boundary(BoundaryKind::gemm_ar, {2048, 1024, 4096}, {}, 4);
  const ScheduleChoice choice = choice_of("mc2.matmul_all_reduce");
  const sim::Program program = boundary_program(boundary, choice, site);
  // Copies of rank 0 by turn: to the three peers, then from them, and the next turn after that.
  const std::vector<sim::Copy> copies = calls_of<sim::Copy>(program);
  ASSERT_EQ(copies.size(), 4U * 6U);
  std::size_t copy = 0;
  for (int turn = 0; turn < 4; ++turn) {
    for (int i = 0; i < 6; ++i, ++copy) {
      const int peer = (i % 3) + 1;
      EXPECT_EQ(copies[copy].route, i < 3 ? site.built.unicast[0][static_cast<std::size_t>(peer)]
                                          : site.built.unicast[static_cast<std::size_t>(peer)][0])
          << turn << " " << i;
      EXPECT_EQ(copies[copy].bytes * 16, boundary.collectives.front().message);
    }
  }
}

}  // namespace
}  // namespace weft::model
