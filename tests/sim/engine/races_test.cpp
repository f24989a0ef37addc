// SPDX-License-Identifier: Apache-2.0
// Two launches close together that cannot both be resident: both orders, and their shares.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

// A persistent GEMM of CTAs of a whole SM, its tiles 10 us each.
KernelId gemm_of(ProgramBuilder& b, int ctas, std::int64_t tiles) {
  return b.kernel("gemm", ctas)
      .footprint(lab::whole_sm())
      .role(Purpose::compute, TileOrder::static_shares)
      .range(tiles, 10_us)
      .id();
}

// A resident copy kernel of 2 CTAs of a whole SM, 30 us.
KernelId copy_of(ProgramBuilder& b) {
  return b.kernel("copy", 2)
      .footprint(lab::whole_sm())
      .role(Purpose::communication, TileOrder::static_shares)
      .range(2, 30_us)
      .id();
}

// The GEMM on all 8 SMs and the copy on two streams, the copy issued `later` after the GEMM.
Program gemm_and_copy(Duration later) {
  ProgramBuilder b;
  const KernelId gemm = gemm_of(b, 8, 16);
  const KernelId copy = copy_of(b);
  const StreamId compute = b.stream(RankId(0));
  const StreamId communication = b.stream(RankId(0));
  b.thread(ProcessId(0)).launch(compute, gemm).host_delay(later).launch(communication, copy);
  return b.finish();
}

Machine jittery() {
  lab::LabOptions options;
  options.control.launch = 4_us;
  options.control.launch_jitter = 2_us;
  return lab::machine(options);
}

// GEMM first: the copy waits for all of it, 4 + 20 + 30 = 54 us. Copy first (at 5 us): 6 CTAs of
// the GEMM run at once, 5 + 20, and the last two after them, 25 + 20 = 45 us.
TEST(Race, BothOrdersAreModesWithTheirShares) {
  const ModesResult result = run_modes(jittery(), gemm_and_copy(1_us));
  ASSERT_EQ(result.modes.size(), 2U);
  EXPECT_EQ(result.unresolved_kinds, 0U);
  EXPECT_EQ(result.modes[0].result.end.since_start(), 45_us);
  EXPECT_EQ(result.worst().result.end.since_start(), 54_us);
  // A gap of half the jitter: (1 - 1/2)^2 / 2.
  EXPECT_DOUBLE_EQ(result.modes[0].share, 0.125);
  EXPECT_DOUBLE_EQ(result.worst().share, 0.875);
}

TEST(Race, ThereIsNoneBeyondTheJitter) {
  const ModesResult result = run_modes(jittery(), gemm_and_copy(2_us));
  ASSERT_EQ(result.modes.size(), 1U);
  EXPECT_EQ(result.modes[0].result.end.since_start(), 54_us);
}

// One queue keeps its order: the GEMM was called first.
TEST(Race, ThereIsNoneInsideOneHardwareQueue) {
  Machine machine = jittery();
  machine.processes.front().max_connections = 1;
  const ModesResult result = run_modes(machine, gemm_and_copy(1_us));
  ASSERT_EQ(result.modes.size(), 1U);
  EXPECT_EQ(result.modes[0].result.end.since_start(), 54_us);
}

TEST(Race, ThereIsNoneWhereBothFit) {
  ProgramBuilder b;
  const KernelId gemm = gemm_of(b, 6, 6);
  const KernelId copy = copy_of(b);
  CallWriter calls = b.thread(ProcessId(0));
  calls.launch(b.stream(RankId(0)), gemm).launch(b.stream(RankId(0)), copy);
  EXPECT_TRUE(run(jittery(), b.finish()).races.empty());
}

// A launch-completion edge decides the order: no race is left.
TEST(Race, ALaunchCompletionEdgeRemovesIt) {
  ProgramBuilder b;
  const KernelId copy = copy_of(b);
  const KernelId gemm = gemm_of(b, 8, 16);
  const StreamId compute = b.stream(RankId(0));
  const StreamId communication = b.stream(RankId(0));
  const EventId resident = b.event();
  b.thread(ProcessId(0))
      .launch_completing(communication, copy, resident)
      .wait(compute, resident)
      .launch(compute, gemm);
  const ModesResult result = run_modes(jittery(), b.finish());
  ASSERT_EQ(result.modes.size(), 1U);
  // The copy is resident at 4 us, six CTAs of the GEMM at 8, the other two after them: 8 + 2 x 20.
  EXPECT_EQ(result.modes[0].result.end.since_start(), 48_us);
}

}  // namespace
}  // namespace weft::sim
