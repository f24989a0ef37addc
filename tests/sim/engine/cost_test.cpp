// SPDX-License-Identifier: Apache-2.0
// Cost is linear in the program: events, memory, and what a second run in the same workspace still
// asks for. Counted, not timed; tests/bench times the same actors.
#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "sim/program_builder.hpp"
#include "sim/run.hpp"
#include "tests/bench/actors.hpp"
#include "tests/sim/engine/counting_new.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kActors = 8;

struct Cost {
  double activities = 0;
  double events = 0;
  double built = 0;  // bytes
  double first = 0;
  double second = 0;
  TimePoint end;
  TimePoint again;
};

Cost cost_of(std::uint32_t rounds) {
  const bench::Actors actors = bench::draw_actors(bench::kActorsSeed, kActors, rounds);
  const Machine machine = bench::machine_of(actors);
  Cost cost;
  cost.activities = static_cast<double>(actors.activities());
  const auto bytes = [] { return static_cast<double>(bytes_asked_for()); };
  double before = bytes();
  const Program program = bench::program_of(actors);
  cost.built = bytes() - before;
  class : public RecordSink {
  } sink;
  const std::array<RecordSink*, 1> sinks{&sink};
  Workspace workspace;
  before = bytes();
  RunResult result = run(machine, program, {}, sinks, &workspace);
  cost.first = bytes() - before;
  cost.events = static_cast<double>(result.events);
  cost.end = result.end;
  before = bytes();
  result = run(machine, program, {}, sinks, &workspace);
  cost.second = bytes() - before;
  cost.again = result.end;
  return cost;
}

// A power of two apart, so that arrays that double are as full.
constexpr std::uint32_t kSmall = 128;
constexpr std::uint32_t kLarge = 128 * 16;

TEST(ActorsCost, EventsGrowAsActivitiesDo) {
  const Cost small = cost_of(kSmall);
  const Cost large = cost_of(kLarge);
  EXPECT_EQ(small.events / small.activities, large.events / large.activities);
}

TEST(ActorsCost, BytesGrowAsActivitiesDo) {
  const Cost small = cost_of(kSmall);
  const Cost large = cost_of(kLarge);
  EXPECT_LE(large.built / large.activities, 1.05 * small.built / small.activities);
  EXPECT_LE(large.first / large.activities, 1.05 * small.first / small.activities);
}

TEST(ActorsCost, ASecondRunInAWorkspaceAsksForNothingThatGrows) {
  const Cost small = cost_of(kSmall);
  const Cost large = cost_of(kLarge);
  EXPECT_LT(large.second, small.second + 1024);
  EXPECT_LT(large.second, 0.01 * large.first);
}

TEST(Workspace, ARunInOneIsTheRunWithoutOne) {
  const bench::Actors actors = bench::draw_actors(1, kActors, 16);
  const Machine machine = bench::machine_of(actors);
  const Program program = bench::program_of(actors);
  Workspace workspace;
  const RunResult alone = run(machine, program);
  for (int i = 0; i < 3; ++i) {
    const RunResult again = run(machine, program, {}, {}, &workspace);
    EXPECT_EQ(again.end, alone.end);
    EXPECT_EQ(again.events, alone.events);
  }
}

// What a run that cannot end leaves behind is nothing.
TEST(Workspace, IsNewAfterADeadlock) {
  const bench::Actors actors = bench::draw_actors(1, 1, 4);
  const Machine machine = bench::machine_of(actors);
  ProgramBuilder builder;
  const StreamId stream = builder.stream(RankId(0));
  const SignalId never = builder.signal(MemoryId(0));
  builder.thread(ProcessId(0)).wait(stream, never, 1);
  const Program stuck = builder.finish();
  const Program program = bench::program_of(actors);
  Workspace workspace;
  const TimePoint end = run(machine, program).end;
  EXPECT_EQ(run(machine, program, {}, {}, &workspace).end, end);
  EXPECT_THROW(run(machine, stuck, {}, {}, &workspace), DeadlockError);
  EXPECT_EQ(run(machine, program, {}, {}, &workspace).end, end);
}

// A host that waits for events which have all come goes on from one to the next: no call nests.
TEST(HostThread, WaitsForAHundredThousandEventsThatHaveCome) {
  const bench::Actors actors = bench::draw_actors(1, 1, 1);
  const Machine machine = bench::machine_of(actors);
  ProgramBuilder builder;
  const StreamId stream = builder.stream(RankId(0));
  const EventId event = builder.event();
  CallWriter host = builder.thread(ProcessId(0));
  host.record(stream, event);
  for (int i = 0; i < 100'000; ++i) host.host_wait(event);
  EXPECT_EQ(run(machine, builder.finish()).activities, 100'001U);
}

}  // namespace
}  // namespace weft::sim
