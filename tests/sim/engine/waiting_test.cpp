// SPDX-License-Identifier: Apache-2.0
// One test for each way in which work waits for SMs, engines and queues.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

KernelId resident_copy(ProgramBuilder& b, int ctas, Duration time) {
  return b.kernel("copy", ctas)
      .footprint(lab::whole_sm())
      .role(Purpose::communication, TileOrder::static_shares)
      .range(ctas, time)
      .id();
}

KernelId persistent_gemm(ProgramBuilder& b, std::int64_t tiles, Duration tile, int cluster = 1) {
  return b.kernel("gemm", 8)
      .footprint(lab::whole_sm())
      .cluster(cluster)
      .role(Purpose::compute, TileOrder::static_shares)
      .range(tiles, tile)
      .id();
}

KernelId gemm_on_two_sms(ProgramBuilder& b) {
  return b.kernel("gemm", 2)
      .footprint(lab::whole_sm())
      .role(Purpose::compute, TileOrder::static_shares)
      .range(2, 10_us)
      .id();
}

// 2 of 8 SMs are taken for 25 us. 6 CTAs of the GEMM do their static share, 2 tiles of 10 us; the
// other two begin when those leave, at 20 us, with their whole share to do: 40 us instead of 20.
TEST(Waiting, APersistentGemmBesideAResidentCopyKernelPaysItsSecondWave) {
  ProgramBuilder b;
  const KernelId copy = resident_copy(b, 2, 25_us);
  const KernelId gemm = persistent_gemm(b, 16, 10_us);
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), copy).launch(b.stream(RankId(0)), gemm);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 40_us);
  EXPECT_EQ(tape.stalled(1, StallReason::no_sm), 40_us);  // two CTAs, 20 us each
}

// Tiles handed out by a counter do not wait for the late CTAs: 16 tiles on 6 SMs are 3 waves.
TEST(Waiting, ACounterPaysNoSecondWave) {
  ProgramBuilder b;
  const KernelId copy = resident_copy(b, 2, 100_us);
  const KernelId gemm = b.kernel("gemm", 8)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::counter)
                            .range(16, 10_us)
                            .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), copy).launch(b.stream(RankId(0)), gemm);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 30_us);
}

// CTAs with a first tile of their own and a counter for the rest: 2 late ones of 8 leave 14 of 16 tiles to the 6 that are
// there, 3 waves, and come with a tile each when those are done. 18 of 20 tiles are 3 waves as well.
TEST(Waiting, ALateCtaWithATileOfItsOwnAddsOneTile) {
  for (const std::int64_t tiles : {20, 16}) {
    ProgramBuilder b;
    const KernelId copy = resident_copy(b, 2, 100_us);
    const KernelId gemm = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::own_then_counter)
                              .range(tiles, 10_us)
                              .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), copy).launch(b.stream(RankId(0)), gemm);
    lab::Tape tape;
    lab::run(lab::machine(), b.finish(), tape);
    EXPECT_EQ(tape.command(1).end.since_start(), 40_us) << tiles;
  }
}

TEST(Waiting, ACollectiveLaunchedSecondWaitsForTheGemmsEnd) {
  ProgramBuilder b;
  const KernelId gemm = persistent_gemm(b, 16, 10_us);
  const KernelId copy = resident_copy(b, 2, 25_us);
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), gemm).launch(b.stream(RankId(0)), copy);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).start.since_start(), 20_us);
  EXPECT_EQ(tape.command(1).end.since_start(), 45_us);
}

// A GEMM holds 5 of 8 SMs; 6 copy CTAs of half an SM land on the 3 that are free.
TEST(Waiting, CopyCtasPackOntoFreeSms) {
  ProgramBuilder b;
  const KernelId gemm = b.kernel("gemm", 5)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::static_shares)
                            .range(5, 100_us)
                            .id();
  const KernelId copy = b.kernel("copy", 6)
                            .footprint({.threads = 512})
                            .role(Purpose::communication, TileOrder::static_shares)
                            .range(6, 10_us)
                            .id();
  const KernelId late = resident_copy(b, 1, 1_us);
  const StreamId side = b.stream(RankId(0));
  b.thread(ProcessId(0))
      .launch(b.stream(RankId(0)), gemm)
      .launch(side, copy)
      .launch(b.stream(RankId(0)), late);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).start.since_start(), Duration());
  EXPECT_EQ(tape.command(1).end.since_start(), 10_us);
  // All three are taken: a CTA of a whole SM finds room when they leave.
  EXPECT_EQ(tape.command(2).start.since_start(), 10_us);
}

// GPCs of 4 + 6 + 6 SMs hold 1 + 1 + 1 clusters of 4, so 4 of 16 SMs stay idle: 16 CTAs are two
// waves.
TEST(Waiting, ClustersOfFourLoseSmsToGpcEdges) {
  const Machine machine = lab::machine({.sms_per_gpc = {4, 6, 6}});
  for (const int cluster : {1, 2, 4}) {
    ProgramBuilder b;
    const KernelId gemm = b.kernel("gemm", 16)
                              .footprint(lab::whole_sm())
                              .cluster(cluster)
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(16, 10_us)
                              .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), gemm);
    EXPECT_EQ(lab::end_of(machine, b.finish()), cluster == 4 ? 20_us : 10_us);
  }
}

// Two copy CTAs spread over both GPCs of 4: a cluster of 4 finds no GPC whole, though 6 SMs are
// free.
TEST(Waiting, SpreadCtasCostClustersMoreThanTheirSms) {
  ProgramBuilder b;
  const KernelId copy = resident_copy(b, 2, 25_us);
  const KernelId gemm = persistent_gemm(b, 8, 10_us, 4);
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), copy).launch(b.stream(RankId(0)), gemm);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).start.since_start(), 25_us);
}

// Two streams on one hardware queue: the second stream's kernel is behind a launch that waits for
// its own stream.
TEST(Waiting, OneConnectionSerialises) {
  for (const int connections : {1, 2}) {
    const Machine machine = lab::machine({.max_connections = connections});
    ProgramBuilder b;
    const KernelId kernel = gemm_on_two_sms(b);
    const StreamId first = b.stream(RankId(0));
    const StreamId second = b.stream(RankId(0));
    b.thread(ProcessId(0)).launch(first, kernel).launch(first, kernel).launch(second, kernel);
    lab::Tape tape;
    lab::run(machine, b.finish(), tape);
    const Duration start = tape.command(2).start.since_start();
    EXPECT_EQ(start, connections == 1 ? 10_us : Duration());
    EXPECT_EQ(tape.stalled(2, StallReason::hardware_queue), start);
  }
}

// Of three streams one is given nothing: two hardware queues are enough.
TEST(Waiting, StreamsThatAreGivenNothingTakeNoHardwareQueue) {
  const Machine machine = lab::machine({.max_connections = 2});
  ProgramBuilder b;
  const KernelId kernel = gemm_on_two_sms(b);
  const StreamId first = b.stream(RankId(0));
  static_cast<void>(b.stream(RankId(0)));
  const StreamId third = b.stream(RankId(0));
  b.thread(ProcessId(0)).launch(first, kernel).launch(first, kernel).launch(third, kernel);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(2).start.since_start(), Duration());
}

// Three host threads, the first two on one hardware queue. The second's copy is known to come at
// 5 us before the first's wait is issued at 2; the wait then holds the queue until 10, and the copy
// behind it takes its 10 us from there.
TEST(Waiting, ThreadsOnOneQueueGoInTheOrderOfIssue) {
  const Machine machine = lab::machine({.max_connections = 1});
  ProgramBuilder b;
  const KernelId two = resident_copy(b, 8, 2_us);
  const KernelId eight = resident_copy(b, 8, 8_us);
  const EventId early = b.event();
  const EventId late = b.event();
  const StreamId first = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  const StreamId other = b.stream(RankId(1));
  b.thread(ProcessId(0)).host_wait(early).wait(first, late);
  b.thread(ProcessId(0)).host_delay(5_us).copy(second, 0, lab::route(machine, 0, 1), 1_MB);
  b.thread(ProcessId(0))
      .launch(other, two)
      .record(other, early)
      .launch(other, eight)
      .record(other, late);
  EXPECT_EQ(lab::end_of(machine, b.finish()), 20_us);
}

// A higher priority takes the SMs as they come free; the lower one's CTAs wait.
TEST(Waiting, TheHigherPriorityGoesFirst) {
  ProgramBuilder b;
  const KernelId many = b.kernel("many", 0)
                            .footprint(lab::whole_sm())
                            .role(Purpose::compute, TileOrder::one_cta_per_tile)
                            .range(24, 10_us)
                            .id();
  const KernelId urgent = resident_copy(b, 8, 5_us);
  b.thread(ProcessId(0))
      .launch(b.stream(RankId(0)), many)
      .host_delay(1_us)
      .launch(b.stream(RankId(0), 1), urgent);
  lab::Tape tape;
  lab::run(lab::machine(), b.finish(), tape);
  EXPECT_EQ(tape.command(2).end.since_start(), 15_us);  // between the first two waves
  EXPECT_EQ(tape.command(0).end.since_start(), 35_us);
}

// Copies on one engine go one at a time, in the order in which they ask; two engines go together.
TEST(Waiting, AnEngineServesOneAtATime) {
  for (const int engines : {1, 2}) {
    const Machine machine = lab::machine({.devices = 3, .copy_engines = engines});
    ProgramBuilder b;
    CallWriter calls = b.thread(ProcessId(0));
    for (std::uint32_t i = 0; i < 2; ++i) {
      calls.copy(b.stream(RankId(0)), engines == 2 ? i : 0, lab::route(machine, i + 1, 0), 1_MB);
    }
    lab::Tape tape;
    const RunResult result = lab::run(machine, b.finish(), tape);
    // Together they share the ingress link, so the end is the same.
    EXPECT_EQ(result.end.since_start(), 20_us);
    EXPECT_EQ(tape.stalled(1, StallReason::engine_busy), engines == 1 ? 10_us : Duration());
  }
}

// Two ranks on halves of one device do not see each other's SMs.
TEST(Waiting, PartitionsAreApart) {
  Machine machine = lab::machine();
  machine.ranks[0].sms_per_gpc = {2, 2};
  machine.ranks[1] = {.device = DeviceId(0), .process = ProcessId(0), .sms_per_gpc = {2, 2}};
  ProgramBuilder b;
  const KernelId kernel = b.kernel("gemm", 4)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(8, 10_us)
                              .id();
  CallWriter calls = b.thread(ProcessId(0));
  calls.launch(b.stream(RankId(0)), kernel).launch(b.stream(RankId(1)), kernel);
  EXPECT_EQ(lab::end_of(machine, b.finish()), 20_us);
}

// A producer may work on 2 tiles of a range before its flag binds: the flag comes at 25 us, the
// third tile waits for it; nothing is posted before.
TEST(Waiting, RunAheadHidesAWaitUpToItsStages) {
  for (const int stages : {0, 2}) {
    ProgramBuilder b;
    const SignalId flag = b.signal(MemoryId(0));
    const KernelId gemm = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, TileOrder::static_shares)
                              .range(32, 10_us)
                              .wait(flag, 1, stages)
                              .id();
    b.thread(ProcessId(0))
        .launch(b.stream(RankId(0)), gemm)
        .host_delay(25_us)
        .post(b.stream(RankId(0)), {.signal = flag, .from = {}});
    EXPECT_EQ(lab::end_of(lab::machine(), b.finish()), stages == 0 ? 65_us : 45_us);
  }
}

// ready_first takes the chunk whose flag has come; static shares wait for the first.
TEST(Waiting, ReadyFirstTakesWhatIsThere) {
  for (const TileOrder order : {TileOrder::static_shares, TileOrder::ready_first}) {
    ProgramBuilder b;
    const SignalId flag = b.signal(MemoryId(0));
    const KernelId gemm = b.kernel("gemm", 8)
                              .footprint(lab::whole_sm())
                              .role(Purpose::compute, order)
                              .range(8, 10_us)
                              .wait(flag, 1)
                              .range(8, 10_us)
                              .id();
    b.thread(ProcessId(0))
        .launch(b.stream(RankId(0)), gemm)
        .host_delay(10_us)
        .post(b.stream(RankId(0)), {.signal = flag, .from = {}});
    EXPECT_EQ(lab::end_of(lab::machine(), b.finish()),
              order == TileOrder::ready_first ? 20_us : 30_us);
  }
}

}  // namespace
}  // namespace weft::sim
