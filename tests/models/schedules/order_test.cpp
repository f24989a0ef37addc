// SPDX-License-Identifier: Apache-2.0
// In what order each published schedule multiplies and moves, rank by rank: where the systems differ most.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/schedules/delivery.hpp"
#include "models/schedules/example.hpp"
#include "tests/models/schedules/choices.hpp"
#include "tests/models/schedules/sites.hpp"

namespace weft::model {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

Boundary small_boundary(BoundaryKind kind, int ranks) {
  return make_boundary(kind, {512L * ranks, 2048, 2048}, {}, ranks);
}

// What the host thread of one rank calls, of one kind, in order.
template <class Call>
std::vector<Call> calls_of(const sim::Program& program, int rank) {
  std::vector<Call> calls;
  for (const sim::Command& command : program.threads[at(rank)].commands) {
    if (const auto* call = std::get_if<Call>(&command.call)) calls.push_back(*call);
  }
  return calls;
}

// A range of a rank's kernels of some purpose, with its kernel's role.
struct Walked {
  const sim::Role* role;
  const sim::TileRange* range;
};

std::vector<Walked> walk(const sim::Program& program, int rank) {
  std::vector<Walked> all;
  for (const sim::Launch& launch : calls_of<sim::Launch>(program, rank)) {
    const sim::Kernel& kernel = program.kernels[launch.kernel.value()];
    for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
      const sim::Role& role = program.roles[kernel.roles.first + r];
      for (std::uint32_t i = 0; i < role.ranges.count; ++i)
        all.push_back({&role, &program.ranges[role.ranges.first + i]});
    }
  }
  return all;
}

std::vector<std::uint32_t> routes_of(const sim::Program& program, const sim::TileRange& range) {
  std::vector<std::uint32_t> routes;
  for (std::uint32_t t = 0; t < range.traffic.count; ++t) {
    const sim::Traffic& traffic = program.traffic[range.traffic.first + t];
    if (traffic.on == sim::Traffic::On::route) routes.push_back(traffic.index);
  }
  return routes;
}

// The routes of a rank's ranges one after the other, equal neighbours once.
std::vector<std::uint32_t> route_order(const sim::Program& program, int rank) {
  std::vector<std::uint32_t> order;
  for (const Walked& each : walk(program, rank)) {
    for (const std::uint32_t route : routes_of(program, *each.range)) {
      if (order.empty() || order.back() != route) order.push_back(route);
    }
  }
  return order;
}

std::uint32_t route(const Site& site, int from, int to) {
  return static_cast<std::uint32_t>(site.built.unicast[at(from)][at(to)].value());
}

// Streams of the products that a rank launches.
std::vector<std::uint32_t> product_streams(const sim::Program& program, int rank) {
  std::vector<std::uint32_t> streams;
  for (const sim::Command& command : program.threads[at(rank)].commands) {
    const auto* launch = std::get_if<sim::Launch>(&command.call);
    if (launch != nullptr && program.tags[command.tag.value()].purpose == sim::Purpose::compute)
      streams.push_back(static_cast<std::uint32_t>(launch->stream.value()));
  }
  return streams;
}

// At step t rank r fetches what rank r XOR t has made for it: pairs swap, and no port serves two at once.
TEST(Flux, FetchesInTheOrderOfExclusiveOr) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program =
      boundary_program(small_boundary(BoundaryKind::gemm_rs, 8), choice_of("flux.gemm_rs"), site);
  for (int rank = 0; rank < 8; ++rank) {
    std::vector<std::uint32_t> wanted;
    for (int step = 1; step < 8; ++step) wanted.push_back(route(site, rank ^ step, rank));
    EXPECT_EQ(route_order(program, rank), wanted) << rank;
  }
}

// Before Hopper the epilogue stores each block at its owner in the same order, its own block last and over no link; then
// ranks meet, and a kernel adds the slots up. A fused reduction, of fp16, leaves nothing to add.
TEST(Flux, PushesToOwnersFromTheEpilogueOnAmpere) {
  const Site site = test_site("a100x8.json", 4);
  TensorFormat half;
  half.element = DType::fp16;
  const Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {4096, 2048, 2048}, half, 4);
  for (const std::int64_t fused : {0, 1}) {
    const sim::Program program =
        boundary_program(boundary, choice_of("flux.gemm_rs", {{"fuse_reduction", fused}}), site);
    EXPECT_TRUE(program.gangs.empty());
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(route_order(program, rank),
                  ElementsAre(route(site, rank, rank ^ 1), route(site, rank, rank ^ 2),
                              route(site, rank, rank ^ 3)));
      EXPECT_THAT(calls_of<sim::Copy>(program, rank), IsEmpty());
      const sim::Launch last = calls_of<sim::Launch>(program, rank).back();
      const std::string& label = program.labels[program.kernels[last.kernel.value()].label.value()];
      EXPECT_EQ(label.ends_with(".add"), fused == 0) << label;
    }
  }
}

// Two NUMA nodes of PCIe: round the own half from the rank before, one chunk from the counterpart in the other half, and
// round with those that came so. One chunk a rank crosses the sockets, where a ring of all would send seven through one
// place.
TEST(Flux, CrossesTheSocketsOnceARankInARingOfTwoHalves) {
  const Site site = test_site("l20x8.json", 8);
  const Boundary boundary = small_boundary(BoundaryKind::ag_gemm, 8);
  const auto crossings = [&](const char* mode) {
    const ScheduleChoice choice = choice_of("flux.ag_gemm", {{"ring_mode", mode}});
    std::vector<int> by_rank(8);
    const auto transfers = choice.schedule->transfers(boundary, choice.knobs, site);
    for (const Transfer& each : transfers.front())
      by_rank[at(each.to)] += each.from / 4 != each.to / 4 ? 1 : 0;
    return by_rank;
  };
  EXPECT_THAT(crossings("ring2d"), Each(1));
  EXPECT_THAT(crossings("ring1d"), ElementsAre(7, 0, 0, 0, 7, 0, 0, 0));
  const ScheduleChoice automatic = choice_of("flux.ag_gemm");
  EXPECT_EQ(boundary_program(boundary, automatic, site),
            boundary_program(boundary, choice_of("flux.ag_gemm", {{"ring_mode", "ring2d"}}), site));
}

// A product for each rank's chunk, or one product with a flag for each.
TEST(CublasMp, SplitLaunchesProductsAndAtomicWaitsForFlags) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary boundary = small_boundary(BoundaryKind::ag_gemm, 8);
  const auto program = [&](const char* algorithm) {
    return boundary_program(boundary, choice_of("cublasmp.ag_matmul", {{"algo", algorithm}}), site);
  };
  const auto flags = [](const sim::Program& of) {
    int waits = 0;
    for (const Walked& each : walk(of, 0)) {
      if (each.role->purpose == sim::Purpose::compute)
        waits += static_cast<int>(each.range->waits.count);
    }
    return waits;
  };
  for (const char* way : {"p2p", "multicast"}) {
    const sim::Program split = program((std::string("split_") + way).c_str()),
                       atomic = program((std::string("atomic_") + way).c_str());
    EXPECT_EQ(product_streams(split, 0).size(), 8U) << way;
    EXPECT_EQ(flags(split), 0) << way;
    EXPECT_EQ(product_streams(atomic, 0).size(), 1U) << way;
    EXPECT_GE(flags(atomic), 7) << way;
  }
}

// All-gather: the local block needs nobody and is multiplied before the first turn. All-to-all: a turn's product, then
// what of it goes to each peer.
TEST(Mc2, StartsWithTheLocalBlockAndSendsTurnByTurn) {
  const Site site = test_site("ascend910x8.json", 4);
  const auto program_of = [&](const char* schedule, BoundaryKind kind) {
    return boundary_program(make_boundary(kind, {2048, 1024, 1024}, {}, 4), choice_of(schedule),
                            site);
  };
  // "p" for a product, "c" for a copy of the server.
  const auto calls = [](const sim::Program& program) {
    std::string text;
    for (const sim::Command& command : program.threads.front().commands) {
      const sim::Purpose purpose = program.tags[command.tag.value()].purpose;
      if (std::holds_alternative<sim::Copy>(command.call)) text += 'c';
      if (std::holds_alternative<sim::Launch>(command.call) && purpose == sim::Purpose::compute)
        text += 'p';
    }
    return text;
  };
  EXPECT_EQ(calls(program_of("mc2.all_gather_matmul", BoundaryKind::ag_gemm)),
            "p"
            "cccp"
            "cccp"
            "cccp"
            "cccp");
  EXPECT_EQ(calls(program_of("mc2.matmul_all_to_all", BoundaryKind::gemm_a2a)),
            "pccc"
            "pccc"
            "pccc"
            "pccc");
}

// Communicating CTAs of the same kernel reduce and multicast a rank's eighth of each wave, once all eight have counted.
TEST(ParallelKittens, AllReducesATileWhenAllEightHaveCountedIt) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program = boundary_program(small_boundary(BoundaryKind::gemm_ar, 8),
                                                choice_of("parallelkittens.gemm_ar"), site);
  std::vector<std::uint32_t> routes;
  for (const Walked& each : walk(program, 3)) {
    if (each.role->purpose != sim::Purpose::communication) continue;
    EXPECT_EQ(each.role->ctas, 16);
    for (std::uint32_t w = 0; w < each.range->waits.count; ++w)
      EXPECT_EQ(program.waits[each.range->waits.first + w].at_least, 8U);
    for (const std::uint32_t one : routes_of(program, *each.range)) routes.push_back(one);
  }
  ASSERT_FALSE(routes.empty());
  for (std::size_t i = 0; i < routes.size(); ++i) {
    EXPECT_EQ(routes[i],
              i % 2 == 0 ? site.built.reduce[3].value() : site.built.multicast[3].value());
  }
  EXPECT_TRUE(program.gangs.empty());
}

// No copies: a stage reads the sum so far from the rank before as it multiplies, and flags the rank after.
TEST(Cutlass, ReducesInARingOfItsOwnStages) {
  const Site site = test_site("h200x8.json", 8);
  const sim::Program program = boundary_program(small_boundary(BoundaryKind::gemm_rs, 8),
                                                choice_of("cutlass.distributed_gemm"), site);
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_THAT(calls_of<sim::Copy>(program, rank), IsEmpty());
    EXPECT_EQ(product_streams(program, rank).size(), 8U);
    EXPECT_THAT(route_order(program, rank), ElementsAre(route(site, (rank + 7) % 8, rank)));
  }
}

// Products alternate between two streams, a pause holds back the second round, the own chunk comes last on the current
// stream, and one kernel adds up.
TEST(Torch, ReduceScatterAlternatesAndEndsWithItsOwnChunk) {
  const Site site = test_site("h200x8.json", 4);
  const sim::Program program =
      boundary_program(small_boundary(BoundaryKind::gemm_rs, 4), choice_of("torch.async_tp"), site);
  const std::vector<std::uint32_t> streams = product_streams(program, 0);
  const std::uint32_t current = static_cast<std::uint32_t>(0), second = streams.front();
  EXPECT_NE(second, current);
  EXPECT_THAT(streams, ElementsAre(second, current, second, current));
  std::vector<std::uint32_t> pulls;
  for (const sim::Copy& copy : calls_of<sim::Copy>(program, 0))
    pulls.push_back(static_cast<std::uint32_t>(copy.route.value()));
  EXPECT_THAT(pulls, ElementsAre(route(site, 3, 0), route(site, 2, 0), route(site, 1, 0)));
  std::vector<std::string> labels;
  for (const sim::Launch& launch : calls_of<sim::Launch>(program, 0))
    labels.push_back(program.labels[program.kernels[launch.kernel.value()].label.value()]);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), "pause"), 1);
  EXPECT_TRUE(labels.back().ends_with(".add"));
}

// num_sm and cga_size are what the collective's grid and clusters are: a tuned file's 24, too. Clusters that do not divide
// the grid are left out.
TEST(TransformerEngine, CollectivesHaveTheGridAndClustersOfTheirSettings) {
  const Site site = test_site("h200x8.json", 8);
  const Boundary scatter = small_boundary(BoundaryKind::gemm_rs, 8);
  const auto grid = [&](const char* schedule, const Boundary& boundary, std::int64_t sms,
                        std::int64_t cga) {
    const ScheduleChoice choice = choice_of(schedule, {{"num_sm", sms}, {"cga_size", cga}});
    EXPECT_THAT(faults_of(choice.knobs, choice.schedule->info().knobs), IsEmpty());
    EXPECT_THAT(refusals_of(choice, boundary, site), IsEmpty());
    for (const sim::Kernel& kernel : boundary_program(boundary, choice, site).kernels) {
      if (kernel.gang) return std::pair(kernel.ctas, kernel.cluster);
    }
    return std::pair(0, 0);
  };
  const Boundary beside = with_wgrad(scatter, Relation::independent);
  for (const auto& [schedule, boundary] :
       {std::pair("te.pipeline", scatter), std::pair("te.bulk", beside)}) {
    EXPECT_EQ(grid(schedule, boundary, 24, 2), std::pair(24, 2));
    EXPECT_EQ(grid(schedule, boundary, 24, 4), std::pair(24, 4));
    EXPECT_EQ(grid(schedule, boundary, 24, 8), std::pair(24, 8));
    EXPECT_EQ(grid(schedule, boundary, 24, 3), std::pair(24, 3));
    EXPECT_EQ(grid(schedule, boundary, 3, 1), std::pair(3, 1));
    EXPECT_EQ(grid(schedule, boundary, 3, 2), std::pair(3, 1));
    EXPECT_EQ(grid(schedule, boundary, 16, 12), std::pair(16, 1));
    const auto refused = [&](std::int64_t sms, std::int64_t cga) {
      return refusals_of(choice_of(schedule, {{"num_sm", sms}, {"cga_size", cga}}), boundary, site);
    };
    EXPECT_THAT(refused(33, 2), ElementsAre("num_sm 33 is not between 1 and 32"));
    EXPECT_THAT(refused(16, 0), ElementsAre("cga_size 0 is less than 1"));
    EXPECT_THAT(refused(24, 12), ElementsAre("cga_size 12 divides a grid of 24, and CUDA starts no "
                                             "clusters of more than 8"));
  }
  // A pipeline's last part takes all 32.
  EXPECT_THAT(
      refusals_of(
          choice_of("te.pipeline", {{"num_sm", std::int64_t{24}}, {"cga_size", std::int64_t{16}}}),
          scatter, site),
      ElementsAre("cga_size 16 divides a grid of 32, and CUDA starts no clusters of more than 8"));
}

// Before Hopper there are no clusters, and no size of them is refused.
TEST(TransformerEngine, AmpereStartsNoClusters) {
  const Site site = test_site("a100x8.json", 8);
  const Boundary scatter = small_boundary(BoundaryKind::gemm_rs, 8);
  for (const std::int64_t cga : {2, 16}) {
    const ScheduleChoice choice = choice_of("te.pipeline", {{"cga_size", cga}});
    EXPECT_THAT(refusals_of(choice, scatter, site), IsEmpty());
    for (const sim::Kernel& kernel : boundary_program(scatter, choice, site).kernels)
      EXPECT_EQ(kernel.cluster, 1);
  }
}

// CUDA_DEVICE_MAX_CONNECTIONS=1: what was called first goes first. Without a launch completion event that is what puts a
// bulk collective before the product beside it, as the event does.
TEST(TransformerEngine, OneConnectionFixesTheOrderOfLaunches) {
  const Boundary boundary = with_wgrad(
      make_boundary(BoundaryKind::gemm_rs, {8192, 8192, 65536}, {}, 8), Relation::independent);
  Site site = test_site("h200x8.json", 8);
  const auto figures = [&](std::int64_t event) {
    return overlapped_only(boundary, choice_of("te.bulk", {{"launch_completion_event", event}}),
                           site, {});
  };
  const Duration by_event = figures(1).overlapped;
  for (sim::Process& process : site.built.machine.processes) process.max_connections = 1;
  const Figures one = figures(0);
  EXPECT_EQ(one.modes.size(), 1U);
  EXPECT_NEAR(ratio(one.overlapped, by_event), 1, 0.01);
}

// Gradients of data parallelism: the first bucket's collective is long, the next one waits behind it on their stream, and
// with one hardware queue so does every product that was called after that one. With queues of their own the products go
// on under the first collective.
TEST(Nccl, OneConnectionKillsTheOverlapOfDataParallelism) {
  Boundary boundary = make_boundary(BoundaryKind::gemm_rs, {2048, 2048, 4 * 8192}, {}, 4);
  const Operator product = boundary.operators.front();
  BoundaryCollective bucket = boundary.collectives.front();
  boundary.operators.assign(6, product);
  bucket.name = "bucket";
  boundary.collectives.front().extent.rows *= 32;
  boundary.collectives.front().message = boundary.collectives.front().message * 32;
  boundary.collectives.push_back(bucket);
  boundary.pairs.clear();
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t op = 0; op < 6; ++op)
      boundary.pairs.push_back({c, op, c == op ? Relation::produces : Relation::independent});
  }
  Site site = test_site("h200x8.json", 4);
  const auto time = [&] {
    return overlapped_only(boundary, choice_of("nccl.stream_overlap"), site, {}).overlapped;
  };
  const Duration many = time();
  for (sim::Process& process : site.built.machine.processes) process.max_connections = 1;
  EXPECT_GT(ratio(time(), many), 1.1);
}

}  // namespace
}  // namespace weft::model
