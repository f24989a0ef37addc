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

}  // namespace
}  // namespace weft::sim
