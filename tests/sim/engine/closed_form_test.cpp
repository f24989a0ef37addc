// SPDX-License-Identifier: Apache-2.0
// Times that can be written down without a simulator.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

// One flow: S / B + a. The link gives 100 GB/s, so 1 MB takes 10 us; the route adds a = 2 us and
// the engine's start 3 us.
TEST(Copy, TimeIsStartCostPlusBytesOverBandwidthPlusLatency) {
  Machine machine = lab::machine();
  machine.devices[0].engines[0].start_cost = 3_us;
  const RouteId route = lab::route(machine, 0, 1);
  machine.routes[route.value()].latency = 2_us;
  ProgramBuilder b;
  const StreamId stream = b.stream(RankId(0));
  b.thread(ProcessId(0)).copy(stream, 0, route, 1_MB);
  EXPECT_EQ(lab::end_of(machine, b.finish()), 15_us);
}

// 1 B at 900 GB/s takes 1.11 ps: not done at 1 ps, done at 2 ps.
TEST(Copy, IsNotDoneAPicosecondBeforeItsTime) {
  const Machine machine = lab::machine({.memory = 900_GBps, .link = 900_GBps});
  ProgramBuilder b;
  const StreamId stream = b.stream(RankId(0));
  b.thread(ProcessId(0)).copy(stream, 0, lab::route(machine, 0, 1), 1_B);
  EXPECT_EQ(lab::end_of(machine, b.finish()), 2_ps);
}

// k flows into one ingress link get B / k each: k MB in all over 100 GB/s take k x 10 us.
TEST(Copy, FlowsOnOneLinkShareItEvenly) {
  for (std::uint32_t k = 1; k <= 7; ++k) {
    const Machine machine = lab::machine({.devices = static_cast<int>(k) + 1});
    ProgramBuilder b;
    CallWriter calls = b.thread(ProcessId(0));
    for (std::uint32_t s = 1; s <= k; ++s) {
      calls.copy(b.stream(RankId(s)), 0, lab::route(machine, s, 0), 1_MB);
    }
    lab::Tape tape;
    const RunResult result = lab::run(machine, b.finish(), tape);
    EXPECT_EQ(result.end.since_start(), 10_us * k);
    for (const CommandSpan& span : tape.commands) EXPECT_EQ(span.end, result.end);
  }
}

// 10 tiles of 3 us on 8 SMs: ceil(10 / 8) = 2 waves.
TEST(Kernel, TimeIsWavesTimesTile) {
  const Machine machine = lab::machine();
  for (const TileOrder order :
       {TileOrder::one_cta_per_tile, TileOrder::static_shares, TileOrder::counter,
        TileOrder::ready_first, TileOrder::own_then_counter}) {
    ProgramBuilder b;
    const bool persistent = order != TileOrder::one_cta_per_tile;
    const KernelId kernel = b.kernel("gemm", persistent ? 8 : 0)
                                .footprint(lab::whole_sm())
                                .role(Purpose::compute, order)
                                .range(10, 3_us)
                                .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
    EXPECT_EQ(lab::end_of(machine, b.finish()), 6_us);
  }
}

// Launch and drain are paid once each, and a prologue once a CTA: 3 + 1 + 2 x 5 + 2 us.
TEST(Kernel, PaysLaunchPrologueAndDrain) {
  Machine machine = lab::machine();
  machine.control.launch = 3_us;
  machine.control.kernel_drain = 2_us;
  ProgramBuilder b;
  const KernelId kernel = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .prologue(1_us)
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(16, 5_us)
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  EXPECT_EQ(lab::end_of(machine, b.finish()), 16_us);
}

// A tile that moves b bytes in a memory takes max(its SM time, CTAs x b / bandwidth): 8 CTAs x 1 MB
// at 4 TB/s is 2 us.
TEST(Kernel, TileTimeIsARoofline) {
  const Machine machine = lab::machine();
  for (const Duration sm_time : {1_us, 5_us}) {
    ProgramBuilder b;
    const KernelId kernel = b.kernel("norm", 8)
                                .footprint(lab::whole_sm())
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(8, sm_time)
                                .memory(MemoryId(0), 1_MB)
                                .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
    EXPECT_EQ(lab::end_of(machine, b.finish()), std::max(sm_time, 2_us));
  }
}

// A gang moves at its slowest member's rate. Member 0's egress carries 2 bytes a byte and member
// 1's 1: 100 / 2 = 50 GB/s, so 1 MB takes 20 us, everywhere.
TEST(Gang, MovesAtItsSlowestMembersRate) {
  const Machine machine = lab::machine();
  ProgramBuilder b;
  const GangId gang = b.gang("all_reduce", 1_MB, 400_GBps)
                          .start_latency(3_us)
                          .member(RankId(0))
                          .link(LinkId(0), 2)
                          .member(RankId(1))
                          .link(LinkId(2), 1)
                          .id();
  CallWriter calls = b.thread(ProcessId(0));
  for (std::uint32_t r = 0; r < 2; ++r) {
    const KernelId kernel =
        b.gang_kernel("all_reduce", gang, r, 2).footprint({.threads = 512}).id();
    calls.launch(b.stream(RankId(r)), kernel);
  }
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  for (const CommandSpan& span : tape.commands) {
    EXPECT_EQ(span.end.since_start(), 23_us);
  }
}

// A gang's chunks post when each further third of the bytes is through: 3 MB at 100 GB/s.
TEST(Gang, PostsByChunk) {
  const Machine machine = lab::machine();
  ProgramBuilder b;
  const SignalId arrived = b.signal(MemoryId(0));
  const GangId gang = b.gang("all_gather", 3_MB, 100_GBps)
                          .chunks(3, std::vector<SignalPost>(3, {.signal = arrived, .from = {}}))
                          .member(RankId(0))
                          .id();
  CallWriter calls = b.thread(ProcessId(0));
  const KernelId kernel = b.gang_kernel("all_gather", gang, 0, 1).id();
  calls.launch(b.stream(RankId(0)), kernel);
  const StreamId watcher = b.stream(RankId(0));
  for (std::uint64_t chunk = 1; chunk <= 3; ++chunk) calls.wait(watcher, arrived, chunk);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  for (std::uint32_t chunk = 1; chunk <= 3; ++chunk) {
    EXPECT_EQ(tape.command(chunk).end.since_start(), 10_us * chunk);
  }
}

}  // namespace
}  // namespace weft::sim
