// SPDX-License-Identifier: Apache-2.0
// A_s and B_s: what is left of a schedule without its communication, and without its compute.
#include "sim/controls.hpp"

#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

// n chunks: a GEMM of 8 SMs each for `compute`, whose event a copy of `bytes` waits for.
Program chunked(const Machine& machine, int chunks, Duration compute, Bytes bytes) {
  ProgramBuilder b;
  const StreamId main = b.stream(RankId(0));
  const StreamId side = b.stream(RankId(0));
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < chunks; ++i) {
    const KernelId gemm = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(8, compute)
                              .id();
    const EventId done = b.event();
    calls.launch(main, gemm).record(main, done).wait(side, done);
    calls.copy(side, 0, lab::route(machine, 0, 1), bytes);
  }
  const EventId over = b.event();
  const KernelId last = b.kernel("reduce", 8)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(8, 1_us)
                            .id();
  calls.record(side, over).wait(main, over).launch(main, last);
  return b.finish();
}

// 4 x 30 us of compute, 4 x 20 us of bytes, a tail of 1 us: D = 120 + 20 + 1, A_s = 120 + 1,
// B_s = 4 x 20.
TEST(Controls, TakeOutOneOrTheOther) {
  const Machine machine = lab::machine();
  const Program program = chunked(machine, 4, 30_us, 2_MB);
  EXPECT_EQ(lab::end_of(machine, program), 141_us);
  EXPECT_EQ(lab::end_of(machine, without_communication(program)), 121_us);
  EXPECT_EQ(lab::end_of(machine, without_compute(program)), 80_us);
}

// With launches and hops of 5 us: A_s keeps its launches and loses every hop.
TEST(Controls, AOfTheScheduleHasNoHops) {
  lab::LabOptions options;
  options.control = {.launch = 3_us, .event_hop = 5_us};
  const Machine machine = lab::machine(options);
  const Program program = chunked(machine, 4, 30_us, 2_MB);
  EXPECT_EQ(lab::end_of(machine, without_communication(program)), 136_us);  // 121 + 5 x 3
}

// Compute on two streams that is ordered by a copy between them stays ordered without the copy.
TEST(Controls, ComputeStaysOrderedAcrossStreams) {
  const Machine machine = lab::machine();
  ProgramBuilder b;
  const KernelId gemm = b.kernel("gemm", 4)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(4, 10_us)
                            .id();
  const StreamId first = b.stream(RankId(0));
  const StreamId side = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  const EventId ready = b.event();
  const EventId moved = b.event();
  b.thread(ProcessId(0))
      .launch(first, gemm)
      .record(first, ready)
      .wait(side, ready)
      .copy(side, 0, lab::route(machine, 0, 1), 1_MB)
      .record(side, moved)
      .wait(second, moved)
      .launch(second, gemm);
  const Program program = b.finish();
  EXPECT_EQ(lab::end_of(machine, program), 30_us);
  EXPECT_EQ(lab::end_of(machine, without_communication(program)), 20_us);
}

// One kernel of 6 computing CTAs that wait for what 2 communicating ones bring.
TEST(Controls, RolesOfOneKernelAreToldApart) {
  const Machine machine = lab::machine();
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const KernelId kernel = b.kernel("fused", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::communication, TileOrder::static_shares, 2)
                              .range(2, 1_us)
                              .route(lab::route(machine, 1, 0), 1_MB)
                              .post({.signal = flag})
                              .role(Purpose::compute, TileOrder::static_shares, 6)
                              .range(6, 10_us)
                              .range(6, 10_us)
                              .wait(flag, 1)
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  const Program program = b.finish();
  EXPECT_EQ(lab::end_of(machine, program), 30_us);  // 2 MB at 100 GB/s, then the second range
  EXPECT_EQ(lab::end_of(machine, without_communication(program)), 20_us);
  EXPECT_EQ(lab::end_of(machine, without_compute(program)), 20_us);
}

}  // namespace
}  // namespace weft::sim
