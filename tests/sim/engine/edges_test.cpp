// SPDX-License-Identifier: Apache-2.0
// One test for each kind of edge: stream order, event, launch completion, programmatic launch,
// device signal, stream memory operation, host wait; and what the host pays.
#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

KernelId gemm(ProgramBuilder& b, int ctas, Duration tile) {
  return b.kernel("gemm", ctas)
      .footprint(lab::whole_sm())
      .role(Purpose::compute, TileOrder::static_shares)
      .range(ctas, tile)
      .id();
}

Machine with_costs() {
  lab::LabOptions options;
  options.control = {.launch = 3_us,
                     .kernel_drain = 1_us,
                     .event_hop = 2_us,
                     .signal_same_sm = 100_ns,
                     .signal_same_device = 700_ns,
                     .signal_peer = 900_ns,
                     .signal_host = 1500_ns,
                     .stream_write = 200_ns,
                     .stream_wait = 400_ns};
  Machine machine = lab::machine(options);
  for (Route& route : machine.routes) route.latency = 300_ns;
  return machine;
}

// (3 + 10 + 1) twice: the second launch is dispatched when the first kernel is complete.
TEST(Edge, StreamOrder) {
  ProgramBuilder b;
  const StreamId stream = b.stream(RankId(0));
  const KernelId kernel = gemm(b, 4, 10_us);
  b.thread(ProcessId(0)).launch(stream, kernel).launch(stream, kernel);
  lab::Tape tape;
  lab::run(with_costs(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 28_us);
  EXPECT_EQ(tape.command(1).turn, tape.command(0).end);
  EXPECT_EQ(tape.stalled(1, StallReason::launch), 3_us);
}

// The other stream sees the record a hop later: 14 + 2, then its own 14.
TEST(Edge, Event) {
  ProgramBuilder b;
  const StreamId first = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  const KernelId kernel = gemm(b, 4, 10_us);
  const EventId done = b.event();
  b.thread(ProcessId(0))
      .launch(first, kernel)
      .record(first, done)
      .wait(second, done)
      .launch(second, kernel);
  lab::Tape tape;
  lab::run(with_costs(), b.finish(), tape);
  EXPECT_EQ(tape.command(2).end.since_start(), 16_us);
  EXPECT_EQ(tape.stalled(2, StallReason::event), 16_us);
  EXPECT_EQ(tape.command(3).end.since_start(), 30_us);
}

// Recorded when every CTA is resident, at 3 us, not at the kernel's end.
TEST(Edge, LaunchCompletion) {
  ProgramBuilder b;
  const StreamId first = b.stream(RankId(0));
  const StreamId second = b.stream(RankId(0));
  const KernelId kernel = gemm(b, 4, 10_us);
  const EventId resident = b.event();
  b.thread(ProcessId(0))
      .launch_completing(first, kernel, resident)
      .wait(second, resident)
      .launch(second, kernel);
  lab::Tape tape;
  lab::run(with_costs(), b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 5_us);
  EXPECT_EQ(tape.command(2).start.since_start(), 8_us);
}

// 16 tiles on 4 CTAs in waves of 5 us; the trigger fires after 8, at 3 + 10 us. The successor (4
// CTAs on the other 4 SMs) is resident 3 us later with its prologue of 1 us done at 17, and its
// first tile waits for the predecessor's end at 3 + 20 + 1.
TEST(Edge, ProgrammaticLaunch) {
  for (const bool waits : {true, false}) {
    ProgramBuilder b;
    const StreamId stream = b.stream(RankId(0));
    const KernelId first = b.kernel("first", 4)
                               .footprint(lab::whole_sm())
                               .trigger_after(8)
                               .role(Purpose::compute, TileOrder::static_shares)
                               .range(16, 5_us)
                               .id();
    const KernelId second = b.kernel("second", 4)
                                .footprint(lab::whole_sm())
                                .prologue(1_us)
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(4, 5_us)
                                .id();
    b.thread(ProcessId(0))
        .launch(stream, first)
        .launch_programmatic(stream, second, waits)
        .launch(stream, first);
    lab::Tape tape;
    lab::run(with_costs(), b.finish(), tape);
    EXPECT_EQ(tape.command(0).end.since_start(), 24_us);
    EXPECT_EQ(tape.command(1).turn.since_start(), 13_us);
    EXPECT_EQ(tape.command(1).start.since_start(), 16_us);
    EXPECT_EQ(tape.command(1).end.since_start(), waits ? 30_us : 23_us);
    // What comes after both waits for both.
    EXPECT_EQ(tape.command(2).turn.since_start(), waits ? 30_us : 24_us);
  }
}

// A flag in device memory is seen 700 ns after the post; one in a peer's memory, posted by the
// peer and polled from here, 900 + 300; one that a peer posts here 900 + 300; one in host memory,
// twice 1500 + 300.
TEST(Edge, DeviceSignal) {
  const struct {
    std::uint32_t poster;
    std::uint32_t owner;
    Duration latency;
  } cases[] = {{0, 0, 700_ns}, {1, 1, 1200_ns}, {1, 0, 1200_ns}, {0, 2, 3600_ns}};
  for (const auto& c : cases) {
    ProgramBuilder b;
    const SignalId flag = b.signal(MemoryId(c.owner));
    const KernelId waiter = b.kernel("waiter", 1)
                                .role(Purpose::compute, TileOrder::static_shares)
                                .range(1, 5_us)
                                .wait(flag, 1)
                                .id();
    const KernelId poster = b.kernel("poster", 1)
                                .role(Purpose::communication, TileOrder::static_shares)
                                .range(1, 10_us)
                                .post({.signal = flag, .from = {}})
                                .id();
    b.thread(ProcessId(0))
        .launch(b.stream(RankId(0)), waiter)
        .launch(b.stream(RankId(c.poster)), poster);
    lab::Tape tape;
    lab::run(with_costs(), b.finish(), tape);
    // 3 + 10 us to the post, then its way, then 5 us of work and the drain.
    EXPECT_EQ(tape.command(0).end.since_start(), 13_us + c.latency + 6_us);
  }
}

// Warp groups of one kernel talk over shared memory.
TEST(Edge, SignalBetweenWarpGroups) {
  ProgramBuilder b;
  const SignalId full = b.signal(MemoryId(0));
  const KernelId kernel = b.kernel("fused", 2)
                              .footprint(lab::whole_sm())
                              .warp_group(Purpose::communication, TileOrder::static_shares)
                              .range(2, 4_us)
                              .post({.signal = full, .from = {}}, true)
                              .warp_group(Purpose::compute, TileOrder::static_shares)
                              .range(2, 5_us)
                              .wait(full, 2)
                              .id();
  b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
  EXPECT_EQ(lab::end_of(with_costs(), b.finish()), 3_us + 4_us + 100_ns + 5_us + 1_us);
}

// A stream writes a signal in 200 ns; another sees it 700 ns later and goes on 400 ns after that,
// and pays as much for a signal that was there before it asked.
TEST(Edge, StreamMemoryOperation) {
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const StreamId writer = b.stream(RankId(0));
  const StreamId waiter = b.stream(RankId(0));
  b.thread(ProcessId(0))
      .post(writer, {.signal = flag, .from = {}})
      .wait(waiter, flag, 1)
      .wait(waiter, flag, 1);
  lab::Tape tape;
  lab::run(with_costs(), b.finish(), tape);
  EXPECT_EQ(tape.command(0).end.since_start(), 200_ns);
  EXPECT_EQ(tape.command(1).end.since_start(), 200_ns + 700_ns + 400_ns);
  EXPECT_EQ(tape.command(2).end.since_start(), 200_ns + 700_ns + 2 * 400_ns);
}

// Who finds its signal pays for the wait alone. Who comes before it, by a moment or by 50 us, looks again every 8 us:
// half of that later in the mean.
TEST(Edge, StreamThatLooksAgain) {
  Machine machine = with_costs();
  machine.control.stream_poll = 8_us;
  for (const Duration before : {1_us, 50_us}) {
    ProgramBuilder b;
    const SignalId flag = b.signal(MemoryId(0));
    const StreamId writer = b.stream(RankId(0));
    const StreamId waiter = b.stream(RankId(0));
    b.thread(ProcessId(0))
        .wait(waiter, flag, 1)
        .host_delay(before)
        .post(writer, {.signal = flag, .from = {}})
        .wait(waiter, flag, 1);
    lab::Tape tape;
    lab::run(machine, b.finish(), tape);
    const Duration seen = before + 200_ns + 700_ns;
    EXPECT_EQ(tape.command(0).end.since_start(), seen + 400_ns + 4_us);
    EXPECT_EQ(tape.command(3).end.since_start(), seen + 2 * 400_ns + 4_us);
  }
}

// A signal that is there when the stream comes costs a look, but no wait ends before `stream_wait` from its post.
TEST(Edge, StreamThatComesToAPostedSignal) {
  Machine machine = with_costs();
  machine.control.stream_wait_there = 100_ns;
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(0));
  const StreamId writer = b.stream(RankId(0));
  const StreamId waiter = b.stream(RankId(0));
  b.thread(ProcessId(0))
      .post(writer, {.signal = flag, .from = {}})
      .wait(waiter, flag, 1)
      .wait(waiter, flag, 1);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 200_ns + 700_ns + 400_ns);
  EXPECT_EQ(tape.command(2).end.since_start(), 200_ns + 700_ns + 400_ns + 100_ns);
}

// While a copy engine reads host memory, an event's hop is a round trip of 3 us later, and a flag that a kernel posts
// two, by its count and its post; who waits for it looks once more. Copies from a peer hold nothing up.
TEST(Edge, RoundTripsBehindCopiesFromTheHost) {
  Machine machine = with_costs();
  machine.devices[0].interference.push_back({.access = Interference::Access::engine_copy,
                                             .full_link = false,
                                             .name = "copies by engine",
                                             .points = {{1, 1000}},
                                             .round_trip = 3_us});
  for (const bool from_host : {true, false}) {
    ProgramBuilder b;
    const SignalId flag = b.signal(MemoryId(0));
    const KernelId posts = b.kernel("posts", 4)
                               .footprint(lab::whole_sm())
                               .role(Purpose::compute, TileOrder::static_shares)
                               .range(4, 10_us)
                               .post({.signal = flag, .from = {}})
                               .id();
    const StreamId first = b.stream(RankId(0));
    const StreamId second = b.stream(RankId(0));
    const EventId done = b.event();
    b.thread(ProcessId(0))
        .copy(b.stream(RankId(0)), 0, lab::route(machine, from_host ? 2 : 1, 0), 100_MB)
        .launch(first, posts)
        .record(first, done)
        .wait(second, done)
        .launch(second, gemm(b, 4, 10_us))
        .wait(b.stream(RankId(0)), flag, 1);
    lab::Tape tape;
    lab::run(machine, b.finish(), tape);
    EXPECT_EQ(tape.command(4).end.since_start(), 14_us + 2_us + 14_us + (from_host ? 3_us : 0_us));
    EXPECT_EQ(tape.command(5).end.since_start(),
              13_us + 700_ns + 400_ns + (from_host ? 3 * 3_us : 0_us));
  }
}

// host_wait blocks the thread: what is behind it is issued when the event has reached the host.
TEST(Edge, HostWait) {
  Machine machine = with_costs();
  machine.processes[0].launch_cost = 1_us;
  ProgramBuilder b;
  const StreamId stream = b.stream(RankId(0));
  const StreamId other = b.stream(RankId(0));
  const KernelId kernel = gemm(b, 4, 10_us);
  const EventId done = b.event();
  b.thread(ProcessId(0))
      .launch(stream, kernel)
      .record(stream, done)
      .host_wait(done)
      .launch(other, kernel);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(1).end.since_start(), 15_us);           // issued 1, + 3 + 10 + 1
  EXPECT_EQ(tape.command(2).end.since_start(), 16_us + 500_ns);  // + signal_host
  EXPECT_EQ(tape.command(3).issued.since_start(), 17_us + 500_ns);
  EXPECT_EQ(tape.stalled(3, StallReason::host), 17_us + 500_ns);
}

// Each call costs the host its launch cost; a graph of ten costs its own once.
TEST(Host, PaysForEachCallAndOnceForAGraph) {
  Machine machine = lab::machine();
  machine.processes[0].launch_cost = 2_us;
  machine.processes[0].graph_launch_cost = 5_us;
  ProgramBuilder b;
  const StreamId stream = b.stream(RankId(0));
  const KernelId kernel = gemm(b, 4, 1_us);
  CallWriter nodes = b.graph();
  for (int i = 0; i < 10; ++i) nodes.launch(stream, kernel);
  CallWriter calls = b.thread(ProcessId(0));
  for (int i = 0; i < 10; ++i) calls.launch(stream, kernel);
  calls.graph_launch(nodes.graph_id());
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(9).end.since_start(), 21_us);       // launch-bound: 10 x 2 + 1
  EXPECT_EQ(tape.commands.back().end.since_start(), 35_us);  // 25, then ten of 1 us
}

// A message's bytes queue on its pair and post when they have arrived; the stream goes on when the
// last byte has left.
TEST(Message, PostsOnArrival) {
  Machine machine = with_costs();
  machine.nics.push_back({.name = "nic", .queue_pairs = 2, .message_cost = 1_us});
  const RouteId route = lab::route(machine, 0, 1);
  machine.routes[route.value()].nic = NicId(0);
  ProgramBuilder b;
  const SignalId flag = b.signal(MemoryId(1));
  const StreamId sender = b.stream(RankId(0));
  b.thread(ProcessId(0))
      .message(sender, route, 0, 1_MB, {.signal = flag, .from = {}})
      .message(sender, route, 0, 1_MB, {.signal = flag, .from = {}})
      .wait(b.stream(RankId(1)), flag, 2);
  lab::Tape tape;
  lab::run(machine, b.finish(), tape);
  EXPECT_EQ(tape.command(0).end.since_start(), 11_us);
  EXPECT_EQ(tape.command(1).end.since_start(), 22_us);
  // Arrival 300 ns later, the flag's own way 900 + 300, the stream's wait 400.
  EXPECT_EQ(tape.command(2).end.since_start(), 22_us + 300_ns + 1200_ns + 400_ns);
}

}  // namespace
}  // namespace weft::sim
