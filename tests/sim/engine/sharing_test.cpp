// SPDX-License-Identifier: Apache-2.0
// CTAs on one SM share its pipes; SMs that push into a full link hold back the others; L2 is
// shared.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

constexpr Footprint kHalfSm{.threads = 512};

// Two kernels of 8 CTAs, two to an SM, that each ask for `tensor` thousandths of its tensor pipe.
Program two_kernels(int tensor) {
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < 2; ++i) {
    const KernelId kernel = b.kernel("gemm", 8)
                                .footprint(kHalfSm)
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(8, 10_us, {.tensor_milli = tensor})
                                .id();
    calls.launch(b.stream(RankId(0)), kernel);
  }
  return b.finish();
}

// Demands up to half an SM each fit; 600 + 600 get 500 / 600 of their speed; 1000 + 1000 half.
TEST(SmShare, PipesAreSharedOnceTheyAreFull) {
  const Machine machine = lab::machine();
  EXPECT_EQ(lab::end_of(machine, two_kernels(500)), 10_us);
  EXPECT_EQ(lab::end_of(machine, two_kernels(600)), 12_us);
  EXPECT_EQ(lab::end_of(machine, two_kernels(1000)), 20_us);
  EXPECT_EQ(lab::end_of(machine, two_kernels(1000), {.sm_share = false}), 10_us);
}

// Two more CTAs share 2 of the 8 SMs: there both go at half speed, elsewhere nothing changes.
TEST(SmShare, OnlyCtasOnTheSameSmAreSlowed) {
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  const SmDemand all{.tensor_milli = 1000};
  const KernelId gemm = b.kernel("gemm", 8)
                            .footprint(kHalfSm)
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(8, 10_us, all)
                            .id();
  const KernelId other = b.kernel("other", 2)
                             .footprint(kHalfSm)
                             .role(Purpose::compute, TileOrder::static_shares)
                             .range(2, 10_us, all)
                             .id();
  calls.launch(b.stream(RankId(0)), gemm).launch(b.stream(RankId(0)), other);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  int slow = 0;
  for (const CohortSpan& span : tape.cohorts) {
    const bool shared = span.end - span.start == 20_us;
    EXPECT_TRUE(shared || span.end - span.start == 10_us);
    if (shared) slow += span.ctas;
  }
  EXPECT_EQ(slow, 4);
}

// A CTA comes to an SM whose CTA is half done (5 of 10 us): from then on both at half speed. The
// first ends at 5 + 10 us, the second has then done 5 us and goes on alone: 15 + 5.
TEST(SmShare, ProgressIsKeptWhenTheSharersChange) {
  const Machine machine = lab::machine({.sms_per_gpc = {1}});
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < 2; ++i) {
    const KernelId kernel = b.kernel("gemm", 1)
                                .footprint(kHalfSm)
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(1, 10_us, {.tensor_milli = 1000})
                                .id();
    calls.launch(b.stream(RankId(0)), kernel).host_delay(5_us);
  }
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(0).end.since_start(), 15_us);
  EXPECT_EQ(tape.command(2).end.since_start(), 20_us);
}

// A spinning CTA takes half of the issue slots of the SM that it shares: 10 us become 20, until the
// flag comes at 8 us: 4 us of work are done by then, the other 6 take 6.
TEST(SmShare, ASpinningCtaTakesItsIssueShare) {
  const Machine machine = lab::machine({.sms_per_gpc = {1}});
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const KernelId waiter = b.kernel("waiter", 1)
                              .footprint(kHalfSm)
                              .role(Purpose::communication, TileOrder::static_shares)
                              .spin(500)
                              .range(1, Duration())
                              .wait(flag, 1)
                              .id();
  const KernelId worker = b.kernel("gemm", 1)
                              .footprint(kHalfSm)
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(1, 10_us, {.issue_milli = 1000})
                              .id();
  const StreamId side = b.stream(RankId(0));
  b.thread(ProcessId(0))
      .launch(b.stream(RankId(0)), waiter)
      .launch(b.stream(RankId(0)), worker)
      .host_delay(8_us)
      .post(side, {.signal = flag, .from = {}});
  EXPECT_EQ(lab::end_of(machine, b.finish()), 14_us);
}

// Four CTAs write 1 MB each over a link of 100 GB/s: 40 us, and while they queue behind it the
// other four SMs run at half speed: 30 us of work take 40 + 10.
Program writers_beside_gemm(const Machine& machine) {
  ProgramBuilder b;
  const KernelId writer = b.kernel("writer", 4)
                              .footprint(lab::whole_sm())
                              .role(Purpose::communication, TileOrder::static_shares)
                              .range(4, 1_us)
                              .route(lab::route(machine, 0, 1), 1_MB, true)
                              .id();
  const KernelId gemm = b.kernel("gemm", 4)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(4, 30_us)
                            .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), writer).launch(b.stream(RankId(0)), gemm);
  return b.finish();
}

TEST(Interference, PostedWritesIntoAFullLinkHoldBackTheDevice) {
  Machine machine = lab::machine();
  EXPECT_EQ(lab::end_of(machine, writers_beside_gemm(machine)), 40_us);
  machine.devices[0].interference.push_back(
      {.name = "posted writes", .points = {{.ctas = 8, .slowdown_milli = 3000}}});
  // Between no CTA (1000) and 8 (3000): 2000 at 4.
  EXPECT_EQ(lab::end_of(machine, writers_beside_gemm(machine)), 50_us);
}

// The same writers, slower than the link.
Program paced_writers_beside_gemm(const Machine& machine) {
  ProgramBuilder b;
  const KernelId writer = b.kernel("writer", 4)
                              .footprint(lab::whole_sm())
                              .role(Purpose::communication, TileOrder::static_shares)
                              .range(4, 42_us)
                              .route(lab::route(machine, 0, 1), 1_MB, true)
                              .id();
  const KernelId gemm = b.kernel("gemm", 4)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(4, 30_us)
                            .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), writer).launch(b.stream(RankId(0)), gemm);
  return b.finish();
}

// Below the link's capacity writes do not queue, and a term of a full link holds nothing back; a
// term of writes below its rate does, and has no say over those that queue.
TEST(Interference, PacedWritesHoldBackWhatTheirOwnTermSays) {
  for (const bool full : {true, false}) {
    Machine machine = lab::machine();
    machine.devices[0].interference.push_back({.full_link = full,
                                               .name = "posted writes",
                                               .points = {{.ctas = 8, .slowdown_milli = 3000}}});
    lab::Tape tape;
    lab::run(machine, paced_writers_beside_gemm(machine), tape);
    EXPECT_EQ(tape.command(0).end.since_start(), 42_us);
    // 42 us at half speed, and 9 at full.
    EXPECT_EQ(tape.command(1).end.since_start(), full ? 30_us : 51_us);
    EXPECT_EQ(lab::end_of(machine, writers_beside_gemm(machine)), full ? 50_us : 40_us);
  }
}

// A launch beside them waits for what they have in flight: the second product, dispatched at 30 us
// while the writers run, begins 5 us later.
TEST(Interference, ALaunchWaitsForWhatIsInFlight) {
  for (const Duration delay : {Duration(), 5_us}) {
    Machine machine = lab::machine();
    machine.devices[0].interference.push_back(
        {.full_link = false, .name = "posted writes", .launch = delay});
    Program once = paced_writers_beside_gemm(machine);
    once.threads[0].commands.push_back(once.threads[0].commands.back());
    lab::Tape tape;
    lab::run(machine, once, tape);
    EXPECT_EQ(tape.command(1).end.since_start(), 30_us);
    EXPECT_EQ(tape.command(2).end.since_start(), 60_us + delay);
  }
}

// Copies by an engine count where CTAs would: the product beside one runs at half speed for its 40 us.
TEST(Interference, CopiesByAnEngineHoldBackTheDeviceToo) {
  Machine machine = lab::machine();
  machine.devices[0].interference.push_back({.access = Interference::Access::engine_copy,
                                             .full_link = false,
                                             .name = "copies",
                                             .points = {{.ctas = 1, .slowdown_milli = 2000}}});
  ProgramBuilder b;
  const KernelId gemm = b.kernel("gemm", 4)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(4, 30_us)
                            .id();
  b.thread(ProcessId(0))
      .copy(b.stream(RankId(0)), 0, lab::route(machine, 0, 1), 4_MB)
      .launch(b.stream(RankId(0)), gemm);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  const Duration copied = tape.command(0).end.since_start();
  EXPECT_EQ(tape.command(1).end.since_start(), 30_us + copied / 2);
}

// 8 CTAs x 1 MB through an L2 of 1 TB/s: 8 us.
TEST(L2, IsARoofToo) {
  Machine machine = lab::machine();
  machine.devices[0].l2 = 1_TBps;
  ProgramBuilder b;
  const KernelId kernel = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(8, 5_us)
                              .l2(1_MB)
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  const Program program = b.finish();
  EXPECT_EQ(lab::end_of(machine, program), 8_us);
  EXPECT_EQ(lab::end_of(machine, program, {.hbm_share = false}), 8_us);
}

}  // namespace
}  // namespace weft::sim
