// SPDX-License-Identifier: Apache-2.0
// Ranges without a tile, and what a range takes by default when chunking is off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/units/check.hpp"
#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;
using testing::HasSubstr;

constexpr TileOrder kOrders[] = {TileOrder::static_shares, TileOrder::counter,
                                 TileOrder::ready_first, TileOrder::one_cta_per_tile};

// A role of 16 tiles of 10 us on 8 SMs, then a range without a tile that waits for `flag` and posts
// `done`; another stream waits for that.
struct Relay {
  Program program;
  std::uint32_t waiter = 0;  // call
};
Relay relay(TileOrder order, bool waits, Duration flag_at) {
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const SignalId done = b.signal(MemoryId(0));
  KernelWriter gemm = b.kernel("gemm", order == TileOrder::one_cta_per_tile ? 0 : 8)
                          .footprint(lab::whole_sm())
                          .role(Purpose::compute, order)
                          .range(16, 10_us)
                          .range(0, 10_us);
  if (waits) gemm.wait(flag, 1);
  const KernelId kernel = gemm.post({.signal = done, .from = {}}).id();
  b.thread(ProcessId(0))
      .launch(b.stream(RankId(0)), kernel)
      .wait(b.stream(RankId(0)), done, 1)
      .host_delay(flag_at)
      .post(b.stream(RankId(0)), {.signal = flag, .from = {}});
  return {b.finish(), 1};
}

TEST(EmptyRange, PostsWhenItsRoleBeginsIfItWaitsForNothing) {
  for (const TileOrder order : kOrders) {
    for (const bool chunking : {true, false}) {
      const Relay its = relay(order, false, 1_us);
      Effects effects;
      effects.chunking = chunking;
      lab::Tape tape;
      const RunResult result = lab::run(lab::machine(), its.program, tape, effects);
      EXPECT_EQ(tape.command(its.waiter).end, TimePoint());
      EXPECT_EQ(result.end.since_start(), 20_us);
    }
  }
}

TEST(EmptyRange, PostsWhenItsWaitIsSatisfiedWhateverItsRoleDoes) {
  for (const TileOrder order : kOrders) {
    const Relay its = relay(order, true, 7_us);
    lab::Tape tape;
    const RunResult result = lab::run(lab::machine(), its.program, tape);
    EXPECT_EQ(tape.command(its.waiter).end.since_start(), 7_us);
    EXPECT_EQ(result.end.since_start(), 20_us);
  }
}

// The flag comes 30 us after the last tile: one CTA stays for it, the others leave.
TEST(EmptyRange, KeepsTheLastCtaOfItsRole) {
  for (const TileOrder order : kOrders) {
    const Relay its = relay(order, true, 50_us);
    lab::Tape tape;
    lab::run(lab::machine(), its.program, tape);
    EXPECT_EQ(tape.command(0).end.since_start(), 50_us);
    EXPECT_EQ(tape.command(its.waiter).end.since_start(), 50_us);
    EXPECT_EQ(tape.stalled(0, StallReason::signal), 30_us);
  }
}

TEST(EmptyRange, ThatIsNeverSatisfiedIsADeadlockThatNamesItsSignal) {
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const KernelId kernel = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(8, 10_us)
                              .range(0, 10_us)
                              .wait(flag, 1)
                              .post({.signal = b.signal(MemoryId(0)), .from = {}})
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  try {
    run(lab::machine(), b.finish());
    FAIL();
  } catch (const DeadlockError& error) {
    EXPECT_THAT(error.what(), HasSubstr("waits for signal 0 >= 1 (it is 0), and nothing that is "
                                        "left posts it"));
  }
}

// With one CTA a tile and no tile there is no CTA that could post.
TEST(EmptyRange, OfARoleWithoutACtaIsRefusedIfItPosts) {
  ProgramBuilder b;
  const SignalId done = b.signal(MemoryId(0));
  const KernelId kernel = b.kernel("none", 0)
                              .role(Purpose::compute, TileOrder::one_cta_per_tile)
                              .range(0, 10_us)
                              .post({.signal = done, .from = {}})
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  try {
    run(lab::machine(), b.finish());
    FAIL();
  } catch (const CheckFailure& error) {
    EXPECT_THAT(error.what(), HasSubstr("range 0 of kernel 0 posts, and its role has one CTA a "
                                        "tile and no tile"));
  }
}

// Chunking off, by default: tiles x time over the CTAs that an idle device of 8 SMs holds at once,
// however many the grid has: 20 tiles of 4 us take 10 us.
TEST(FluidTime, IsByDefaultTheTilesTimeOverTheCtasHeldAtOnce) {
  Effects effects;
  effects.chunking = false;
  for (const TileOrder order : kOrders) {
    for (const int ctas : {8, 16, 20}) {
      ProgramBuilder b;
      const KernelId kernel = b.kernel("gemm", order == TileOrder::one_cta_per_tile ? 0 : ctas)
                                  .footprint(lab::whole_sm())
                                  .role(Purpose::compute, order)
                                  .range(20, 4_us)
                                  .id();
      b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
      EXPECT_EQ(lab::end_of(lab::machine(), b.finish(), effects), 10_us);
    }
  }
}

}  // namespace
}  // namespace weft::sim
