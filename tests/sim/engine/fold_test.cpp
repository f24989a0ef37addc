// SPDX-License-Identifier: Apache-2.0
// Folded and unfolded runs agree to the picosecond; what is not symmetric is refused with a reason.
#include "sim/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;
using testing::HasSubstr;

// p devices whose traffic also crosses one switch of 60 % of the links' sum; each with a process
// and a thread of its own.
Machine fabric(std::uint32_t ranks) {
  lab::LabOptions options;
  options.devices = static_cast<int>(ranks);
  options.control = {.launch = 3_us,
                     .kernel_drain = 1_us,
                     .event_hop = 2_us,
                     .signal_same_device = 700_ns,
                     .signal_peer = 900_ns};
  Machine machine = lab::machine(options);
  machine.switches.push_back(
      {.name = "core", .capacity = Bandwidth::from_bytes_per_second(60'000'000'000LL * ranks)});
  machine.processes.clear();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    machine.processes.push_back({.name = "p", .launch_cost = 1_us});
    machine.ranks[r].process = ProcessId(r);
  }
  for (Route& route : machine.routes) {
    route.latency = 400_ns;
    if (route.shares.size() == 2) route.shares.push_back({.on = RouteShare::On::fabric_switch});
  }
  return machine;
}

// Which rank's chunk a rank takes at a step: rotation or XOR.
std::uint32_t peer_of(bool exclusive_or, std::uint32_t rank, std::uint32_t step,
                      std::uint32_t ranks) {
  return exclusive_or ? rank ^ step : (rank + step) % ranks;
}

// AG+GEMM: each rank pulls the peers' chunks by copy engine and posts a flag a chunk; one persistent
// GEMM walks the chunks, own first. The tiles use HBM, the last chunk's result is sent to a peer.
Program all_gather_gemm(const Machine& machine, std::uint32_t ranks, bool exclusive_or) {
  ProgramBuilder b;
  std::vector<std::vector<SignalId>> flags(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t c = 0; c < ranks; ++c) flags[r].push_back(b.signal(MemoryId(r)));
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const StreamId side = b.stream(RankId(r));
    const StreamId main = b.stream(RankId(r));
    CallWriter calls = b.thread(ProcessId(r));
    KernelWriter gemm = b.kernel("gemm", 8)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares);
    for (std::uint32_t step = 0; step < ranks; ++step) {
      const std::uint32_t chunk = peer_of(exclusive_or, r, step, ranks);
      gemm.range(13, 7_us).memory(MemoryId(r), 900_KB);
      if (step > 0) gemm.wait(flags[r][step], 1);
      if (step > 0) {
        calls.copy(side, 0, lab::route(machine, chunk, r), 2_MB);
        // The peer is told too, so that posts cross ranks.
        calls.post(side, {.signal = flags[r][step], .from = {}});
      }
    }
    const std::uint32_t last = peer_of(exclusive_or, r, 1, ranks);
    gemm.range(5, 3_us)
        .route(lab::route(machine, r, last), 300_KB)
        .post({.signal = flags[last][0], .from = {}});
    calls.launch(main, gemm.id());
    calls.wait(main, flags[r][0], 1);
  }
  return b.finish();
}

void expect_same(const Machine& machine, const Program& program, int ranks) {
  const Folded folded = fold(machine, program);
  ASSERT_EQ(folded.refused, "");
  EXPECT_EQ(folded.ranks_folded, ranks);
  lab::Tape all;
  lab::Tape one;
  const RunResult whole = lab::run(machine, program, all);
  const RunResult single = lab::run(folded.machine, folded.program, one);
  EXPECT_EQ(single.end, whole.end);
  for (const CommandSpan& span : one.commands) {
    const CommandSpan its = all.command(span.command.index);
    EXPECT_EQ(span.ready, its.ready);
    EXPECT_EQ(span.start, its.start);
    EXPECT_EQ(span.end, its.end);
  }
}

TEST(Fold, AllGatherGemmAgreesExactly) {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 7U, 8U}) {
    const Machine machine = fabric(ranks);
    expect_same(machine, all_gather_gemm(machine, ranks, false), static_cast<int>(ranks));
  }
}

TEST(Fold, XorOrderIsASymmetryToo) {
  const Machine machine = fabric(8);
  expect_same(machine, all_gather_gemm(machine, 8, true), 8);
}

// Two gangs of four beside copies: a gang is one activity, its orbit has two.
TEST(Fold, GangsAgreeExactly) {
  const Machine machine = fabric(8);
  ProgramBuilder b;
  std::vector<GangId> gangs;
  for (std::uint32_t block = 0; block < 2; ++block) {
    GangWriter gang = b.gang("all_reduce", 5_MB, 200_GBps).start_latency(4_us);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t r = 4 * block + i;
      gang.member(RankId(r))
          .memory(MemoryId(r), 3)
          .link(LinkId(2 * r), 2)
          .link(LinkId(2 * r + 1), 1)
          .fabric_switch(SwitchId(0), 1);
    }
    gangs.push_back(gang.id());
  }
  for (std::uint32_t r = 0; r < 8; ++r) {
    const StreamId side = b.stream(RankId(r));
    const StreamId main = b.stream(RankId(r));
    const KernelId kernel =
        b.gang_kernel("all_reduce", gangs[r / 4], r % 4, 2).footprint({.threads = 256}).id();
    const std::uint32_t peer = r / 4 * 4 + (r + 1) % 4;
    b.thread(ProcessId(r)).launch(side, kernel).copy(main, 0, lab::route(machine, r, peer), 3_MB);
  }
  expect_same(machine, b.finish(), 8);
}

TEST(Fold, ASlowLinkIsRefusedByName) {
  Machine machine = fabric(4);
  machine.links[2].speed_permille = 900;
  const Folded folded = fold(machine, all_gather_gemm(machine, 4, false));
  EXPECT_THAT(folded.refused, HasSubstr("\"egress1\""));
  EXPECT_THAT(folded.refused, HasSubstr("differ"));
}

TEST(Fold, ASlowDeviceIsRefusedByName) {
  Machine machine = fabric(4);
  machine.devices[2].speed_permille = 900;
  const Folded folded = fold(machine, all_gather_gemm(machine, 4, false));
  EXPECT_THAT(folded.refused, HasSubstr("\"gpu2\" differ"));
  EXPECT_EQ(folded.program, all_gather_gemm(machine, 4, false));
}

TEST(Fold, AThreadOfSeveralRanksIsRefused) {
  const Machine machine = fabric(2);
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (std::uint32_t r = 0; r < 2; ++r) {
    calls.copy(b.stream(RankId(r)), 0, lab::route(machine, r, 1 - r), 1_MB);
  }
  EXPECT_THAT(fold(machine, b.finish()).refused, HasSubstr("serves several ranks"));
}

TEST(Fold, AnEventOfAnotherRankIsRefused) {
  const Machine machine = fabric(2);
  ProgramBuilder b;
  const EventId events[] = {b.event(), b.event()};
  for (std::uint32_t r = 0; r < 2; ++r) {
    const StreamId stream = b.stream(RankId(r));
    const StreamId other = b.stream(RankId(r));
    b.thread(ProcessId(r)).record(stream, events[r]).wait(other, events[1 - r]);
  }
  EXPECT_THAT(fold(machine, b.finish()).refused,
              HasSubstr("rank 0 waits for event 1, which another rank records"));
}

TEST(Fold, AQueuePairOfTwoRanksIsRefused) {
  Machine machine = fabric(2);
  machine.nics.push_back({.name = "nic", .queue_pairs = 2});
  for (std::uint32_t r = 0; r < 2; ++r) {
    machine.routes[lab::route(machine, r, 1 - r).value()].nic = NicId(0);
  }
  for (const bool same : {false, true}) {
    ProgramBuilder b;
    for (std::uint32_t r = 0; r < 2; ++r) {
      const SignalId signal = b.signal(MemoryId(1 - r));
      b.thread(ProcessId(r))
          .message(b.stream(RankId(r)), lab::route(machine, r, 1 - r),
                   same ? 0 : static_cast<int>(r), 1_MB, {.signal = signal, .from = {}});
    }
    const std::string refused = fold(machine, b.finish()).refused;
    if (same) {
      EXPECT_EQ(refused, "ranks 0 and 1 share queue pair 0 of NIC 0 \"nic\"");
    } else {
      EXPECT_THAT(refused, HasSubstr("the calls of ranks 0 and 1 differ"));
    }
  }
}

// Rank r leads the gang of r and r + 1: each rank is in two of them.
TEST(Fold, GangsThatOverlapAreRefused) {
  const Machine machine = fabric(3);
  ProgramBuilder b;
  std::vector<GangId> gangs;
  for (std::uint32_t r = 0; r < 3; ++r) {
    gangs.push_back(b.gang("pair", 1_MB, 100_GBps)
                        .member(RankId(r))
                        .memory(MemoryId(r), 1)
                        .member(RankId((r + 1) % 3))
                        .memory(MemoryId((r + 1) % 3), 1)
                        .id());
  }
  for (std::uint32_t r = 0; r < 3; ++r) {
    const KernelId leads = b.gang_kernel("leads", gangs[r], 0, 1).id();
    const KernelId follows = b.gang_kernel("follows", gangs[(r + 2) % 3], 1, 1).id();
    b.thread(ProcessId(r)).launch(b.stream(RankId(r)), leads).launch(b.stream(RankId(r)), follows);
  }
  EXPECT_THAT(fold(machine, b.finish()).refused, HasSubstr("overlap"));
}

// Nothing but a post crosses, and one of its ways is longer.
TEST(Fold, PostsOfUnequalWaysAreRefused) {
  Machine machine = fabric(2);
  machine.routes[lab::route(machine, 1, 0).value()].latency = 500_ns;
  ProgramBuilder b;
  const SignalId flags[] = {b.signal(MemoryId(0)), b.signal(MemoryId(1))};
  for (std::uint32_t r = 0; r < 2; ++r) {
    const StreamId stream = b.stream(RankId(r));
    b.thread(ProcessId(r))
        .post(stream, {.signal = flags[1 - r], .from = {}})
        .wait(stream, flags[r], 1);
  }
  EXPECT_THAT(fold(machine, b.finish()).refused, HasSubstr("the ways from rank"));
}

// A kernel that ranks share works on the first one's memory for all of them.
TEST(Fold, AKernelThatStaysWithOneRankIsRefused) {
  const Machine machine = fabric(2);
  ProgramBuilder b;
  const auto kernel = [&](std::uint32_t memory) {
    return b.kernel("gemm", 2)
        .role(Purpose::compute, TileOrder::static_shares)
        .range(2, 5_us)
        .memory(MemoryId(memory), 1_MB)
        .id();
  };
  const KernelId own[] = {kernel(0), kernel(1)};
  for (std::uint32_t r = 0; r < 2; ++r) {
    const StreamId stream = b.stream(RankId(r));
    b.thread(ProcessId(r)).launch(stream, own[r]).launch(stream, own[0]);
  }
  EXPECT_NE(fold(machine, b.finish()).refused, "");
}

TEST(Fold, AHostThreadThatServesNoRankIsRefused) {
  const Machine machine = fabric(2);
  ProgramBuilder b;
  for (std::uint32_t r = 0; r < 2; ++r) {
    b.thread(ProcessId(r)).copy(b.stream(RankId(r)), 0, lab::route(machine, r, 1 - r), 1_MB);
  }
  b.thread(ProcessId(0)).host_delay(1_ms);
  EXPECT_EQ(fold(machine, b.finish()).refused, "host thread 2 serves no rank");
}

// Races are told apart by labels: kernels that race must be called alike on all ranks.
TEST(Fold, LabelsOfTheirOwnAreRefusedWhereKernelsMayRace) {
  for (const Duration jitter : {0_us, 1_us}) {
    Machine machine = fabric(2);
    machine.control.launch_jitter = jitter;
    ProgramBuilder b;
    for (std::uint32_t r = 0; r < 2; ++r) {
      const KernelId kernel = b.kernel(r == 0 ? "left" : "right", 2)
                                  .role(Purpose::compute, TileOrder::static_shares)
                                  .range(2, 5_us)
                                  .id();
      b.thread(ProcessId(r)).launch(b.stream(RankId(r)), kernel);
    }
    const std::string refused = fold(machine, b.finish()).refused;
    EXPECT_EQ(refused.empty(), jitter == Duration());
  }
}

}  // namespace
}  // namespace weft::sim
