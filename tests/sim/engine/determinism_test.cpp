// SPDX-License-Identifier: Apache-2.0
// The same program gives the same records, whatever runs beside it and however it was assembled.
#include <tuple>

#include <gtest/gtest.h>

#include "tests/sim/engine/lab.hpp"

namespace weft::sim {
namespace {

using namespace weft::literals;

// Every rank sends to the next by copy engine and computes, on two streams; rank by rank or call by
// call.
Program exchange(const Machine& machine, std::uint32_t ranks, bool interleaved) {
  ProgramBuilder b;
  std::vector<StreamId> main;
  std::vector<StreamId> side;
  std::vector<ThreadId> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    main.push_back(b.stream(RankId(r)));
    side.push_back(b.stream(RankId(r), 1));
    threads.push_back(b.thread(ProcessId(0)).thread_id());
  }
  auto round = [&](std::uint32_t r, std::uint32_t i) {
    CallWriter calls = b.calls(threads[r]);
    const KernelId kernel = b.kernel("gemm", 8)
                                .footprint(lab::whole_sm())
                                .role(Purpose::compute, TileOrder::counter)
                                .range(11 + i, 3_us)
                                .memory(MemoryId(r), 2_MB)
                                .id();
    const EventId done = b.event();
    calls.launch(main[r], kernel).record(main[r], done).wait(side[r], done);
    calls.copy(side[r], 0, lab::route(machine, r, (r + 1) % ranks), 700_KB);
    calls.copy(side[r], 0, lab::route(machine, r, (r + 2) % ranks), 300_KB);
  };
  if (interleaved) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      for (std::uint32_t r = 0; r < ranks; ++r) round(ranks - 1 - r, i);
    }
  } else {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      for (std::uint32_t i = 0; i < 5; ++i) round(r, i);
    }
  }
  return b.finish();
}

using Line = std::tuple<CommandRef, TimePoint, TimePoint, TimePoint, TimePoint>;

std::vector<Line> lines(const lab::Tape& tape) {
  std::vector<Line> out;
  for (const CommandSpan& span : tape.commands) {
    out.emplace_back(span.command, span.turn, span.ready, span.start, span.end);
  }
  return out;
}

TEST(Determinism, TheOrderOfAssemblyDecidesNothing) {
  const Machine machine = lab::machine({.devices = 5});
  lab::Tape a;
  lab::Tape b;
  lab::run(machine, exchange(machine, 5, false), a);
  lab::run(machine, exchange(machine, 5, true), b);
  EXPECT_EQ(lines(a), lines(b));
  ASSERT_EQ(a.stalls.size(), b.stalls.size());
  ASSERT_EQ(a.rates.size(), b.rates.size());
  for (std::size_t i = 0; i < a.rates.size(); ++i) {
    EXPECT_EQ(a.rates[i].command, b.rates[i].command);
    EXPECT_EQ(a.rates[i].at, b.rates[i].at);
    EXPECT_EQ(a.rates[i].units_per_second, b.rates[i].units_per_second);
  }
}

// Two engines taken moment by moment in turn do what each does alone.
TEST(Determinism, TwoEnginesInOneProcessDoNotMeet) {
  const Machine machine = lab::machine({.devices = 5});
  const Program first = exchange(machine, 5, false);
  const Program second = exchange(machine, 3, false);
  lab::Tape alone[2];
  lab::run(machine, first, alone[0]);
  lab::run(machine, second, alone[1]);
  lab::Tape together[2];
  RecordSink* const first_sinks[] = {&together[0]};
  RecordSink* const second_sinks[] = {&together[1]};
  Engine a(machine, first, {}, first_sinks);
  Engine b(machine, second, {}, second_sinks);
  for (bool more = true; more;) {
    const bool a_goes_on = a.step();
    const bool b_goes_on = b.step();
    more = a_goes_on || b_goes_on;
  }
  EXPECT_EQ(lines(together[0]), lines(alone[0]));
  EXPECT_EQ(lines(together[1]), lines(alone[1]));
}

// A GEMM costs events by its waves, not by its tiles.
TEST(Cohorts, EventsGrowWithWavesNotTiles) {
  auto events = [](int sms, std::int64_t tiles, TileOrder order) {
    const Machine machine = lab::machine({.sms_per_gpc = {sms}});
    ProgramBuilder b;
    const KernelId kernel = b.kernel("gemm", order == TileOrder::one_cta_per_tile ? 0 : sms)
                                .footprint(lab::whole_sm())
                                .role(Purpose::compute, order)
                                .range(tiles, 3_us)
                                .memory(MemoryId(0), 1_KB)
                                .id();
    b.thread(ProcessId(0)).launch(b.stream(RankId(0)), kernel);
    return run(machine, b.finish()).events;
  };
  for (const TileOrder order : {TileOrder::static_shares, TileOrder::counter,
                                TileOrder::own_then_counter, TileOrder::one_cta_per_tile}) {
    EXPECT_EQ(events(10, 70, order), events(130, 910, order));
    EXPECT_LE(events(130, 910, order), 7U + 3U);
  }
}

}  // namespace
}  // namespace weft::sim
