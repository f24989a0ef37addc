// SPDX-License-Identifier: Apache-2.0
// Each effect switched alone does what it says.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

Program one_gemm(std::int64_t tiles, int ctas) {
  ProgramBuilder b;
  const KernelId kernel = b.kernel("gemm", ctas)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(tiles, 4_us)
                              .fluid(Duration::from_ps(500'000 * tiles))
                              .memory(MemoryId(0), 1_MB)
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  return b.finish();
}

// 9 tiles on 8 SMs are two waves, 8 us; without wave quantisation 9 / 8 x 4 = 4.5 us.
TEST(Effects, ChunkingOffTakesTheFluidTime) {
  Effects effects;
  EXPECT_EQ(lab::end_of(lab::machine(), one_gemm(9, 8)), 8_us);
  effects.chunking = false;
  EXPECT_EQ(lab::end_of(lab::machine(), one_gemm(9, 8), effects), 4.5_us);
}

// Two kernels of 8 CTAs want the same 8 SMs: one after the other; with residency off, together.
TEST(Effects, ResidencyOffFindsRoomAtOnce) {
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < 2; ++i) {
    const KernelId kernel = b.kernel("gemm", 8)
                                .footprint(lab::whole_sm())
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(8, 4_us)
                                .id();
    calls.launch(b.stream(RankId(0)), kernel);
  }
  const Program program = b.finish();
  Effects effects;
  EXPECT_EQ(lab::end_of(lab::machine(), program), 8_us);
  effects.residency = false;
  EXPECT_EQ(lab::end_of(lab::machine(), program, effects), 4_us);
  effects.exclusive_engines = true;
  EXPECT_EQ(lab::end_of(lab::machine(), program, effects), 8_us);
}

// Two copies over one ingress link take 20 us; each with the link to itself 10 us; with bytes that
// take no time, none.
TEST(Effects, LinkShareAndTransport) {
  const Machine machine = lab::machine({.devices = 3});
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (std::uint32_t s = 1; s <= 2; ++s) {
    calls.copy(b.stream(RankId(s)), 0, lab::route(machine, s, 0), 1_MB);
  }
  const Program program = b.finish();
  Effects effects;
  EXPECT_EQ(lab::end_of(machine, program), 20_us);
  effects.link_share = false;
  EXPECT_EQ(lab::end_of(machine, program, effects), 10_us);
  effects.transport = false;
  EXPECT_EQ(lab::end_of(machine, program, effects), Duration());
}

// 8 CTAs that move 1 MB each through a memory of 1 TB/s take 8 us of it a wave, beside a second
// such kernel 16 us; each with the memory to itself 8.
TEST(Effects, HbmShare) {
  const Machine machine = lab::machine({.memory = 1_TBps});
  ProgramBuilder b;
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < 2; ++i) {
    const KernelId kernel = b.kernel("norm", 8)
                                .footprint({.threads = 512})
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(8, 4_us)
                                .memory(MemoryId(0), 1_MB)
                                .id();
    calls.launch(b.stream(RankId(0)), kernel);
  }
  const Program program = b.finish();
  Effects effects;
  EXPECT_EQ(lab::end_of(machine, program), 16_us);
  effects.hbm_share = false;
  EXPECT_EQ(lab::end_of(machine, program, effects), 8_us);
}

TEST(Effects, LaunchAndSyncOffIsFree) {
  lab::LabOptions options;
  options.control = {.launch = 3_us, .kernel_drain = 1_us, .event_hop = 2_us};
  const Machine machine = lab::machine(options);
  ProgramBuilder b;
  const KernelId kernel = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(8, 4_us)
                              .id();
  const StreamId first = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  const EventId event = b.event();
  b.thread(ProcessId(0))
      .launch(first, kernel)
      .record(first, event)
      .wait(second, event)
      .launch(second, kernel);
  const Program program = b.finish();
  EXPECT_EQ(lab::end_of(machine, program), 18_us);  // 3 + 4 + 1, hop 2, 3 + 4 + 1
  EXPECT_EQ(lab::end_of(machine, program, {.launch_and_sync = false}), 8_us);
}

// A device at 800 / 1000 of its speed takes 5 us for a 4 us tile.
TEST(Effects, ImbalanceOffIgnoresASlowDevice) {
  Machine machine = lab::machine();
  machine.devices[0].speed_permille = 800;
  EXPECT_EQ(lab::end_of(machine, one_gemm(8, 8)), 5_us);
  EXPECT_EQ(lab::end_of(machine, one_gemm(8, 8), {.imbalance = false}), 4_us);
}

}  // namespace
}  // namespace weft::sim
