// SPDX-License-Identifier: Apache-2.0
// What cannot end is an error that says who waits for whom, and what would help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;
using testing::HasSubstr;

std::string deadlock_of(const Machine& machine, const Program& program) {
  try {
    run(machine, program);
  } catch (const DeadlockError& error) {
    return error.what();
  }
  return "no deadlock";
}

// A GEMM on all 8 SMs waits for a flag that a copy kernel of 3 CTAs posts. On a free device those
// take 3 SMs, one CTA each, so the GEMM may have 5.
TEST(Deadlock, APosterThatCannotBecomeResidentIsPrintedWithItsCycle) {
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const KernelId gemm = b.kernel("gemm", 8)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(8, 10_us)
                            .wait(flag, 1)
                            .id();
  const KernelId copy = b.kernel("copy", 3)
                            .footprint({.threads = 512})
                            .role(Purpose::communication, TileOrder::static_shares)
                            .range(3, 10_us)
                            .post({.signal = flag})
                            .id();
  const StreamId compute = b.stream(RankId(0));
  const StreamId side = b.stream(RankId(0));
  b.thread(ProcessId(0)).launch(compute, gemm).launch(side, copy);
  const std::string text = deadlock_of(lab::machine(), b.finish());
  EXPECT_THAT(text, HasSubstr("the cycle:"));
  EXPECT_THAT(text, HasSubstr("kernel \"gemm\" (rank 0, stream 0; thread 0, call 0) waits for "
                              "signal 0 >= 1 (it is 0), which it posts: kernel \"copy\""));
  EXPECT_THAT(text, HasSubstr("kernel \"copy\" (rank 0, stream 1; thread 0, call 1) finds no SM "
                              "for 3 of its 3 CTAs, while it holds 8 CTAs on device 0"));
  EXPECT_THAT(text, HasSubstr("a margin of 3 SMs breaks it: kernel \"gemm\" (rank 0, stream 0; "
                              "thread 0, call 0) with at most 5 CTAs"));
}

TEST(Deadlock, ASignalThatNobodyPostsIsNamed) {
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  b.thread(ProcessId(0)).wait(b.stream(RankId(0)), flag, 2);
  EXPECT_THAT(deadlock_of(lab::machine(), b.finish()),
              HasSubstr("waits for signal 0 >= 2 (it is 0), and nothing that is left posts it"));
}

// One hardware queue: the wait of the first stream is in front of the copy that would end it.
TEST(Deadlock, AHardwareQueueCanBeTheCycle) {
  const Machine machine = lab::machine({.max_connections = 1});
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const StreamId first = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  b.thread(ProcessId(0)).wait(first, flag, 1).post(second, {.signal = flag});
  const std::string text = deadlock_of(machine, b.finish());
  EXPECT_THAT(text, HasSubstr("is behind it in hardware queue 0"));
}

TEST(Deadlock, AGangWithoutAMemberIsNamed) {
  ProgramBuilder b;
  const GangId gang = b.gang("all_reduce", 1_MB, 100_GBps).member(RankId(0)).member(RankId(1)).id();
  const KernelId kernel = b.gang_kernel("all_reduce", gang, 0, 1).id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  EXPECT_THAT(deadlock_of(lab::machine(), b.finish()),
              HasSubstr("waits for member 1 of its gang, which is not launched"));
}

}  // namespace
}  // namespace weft::sim
