// SPDX-License-Identifier: Apache-2.0
// A gang against its step-by-step expansion: the same bytes on the same ports, and the same time
// but for the pipeline's fill.
//
// An algorithm is a list of steps, each a list of transfers between ranks on one crossbar; a rank
// goes on to its next step when what the last one sends it has arrived. As a gang: the bytes of all
// steps on each port, and a start latency of a hop a step. With B a second each way and a hop of a:
//
//   steps in which every port that is ever the fullest is full     no fill: equal times
//   a chain of c chunks and depth d                                c + d - 1 steps of S/c + a; the
//                                                                  gang (c + d - 1) a + S: d - 1
//                                                                  slices less
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "sim/program_builder.hpp"
#include "tests/sim/laws/activities.hpp"

namespace weft::sim::laws {
namespace {

using namespace weft::literals;

constexpr Bandwidth kPort = 50_GBps;  // a byte is 20 ps: slices are whole picoseconds

struct Transfer {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t bytes = 0;
};

struct Algorithm {
  std::string name;
  std::uint32_t ranks = 2;
  std::vector<std::vector<Transfer>> steps;
  std::int64_t slice = 0;                    // the most that a port carries in one step
  std::optional<std::int64_t> fill_steps{};  // in which the fullest port is idle, if all are alike
};

// Ring: in each step every rank sends a slice to the next; p - 1 steps gather or scatter, twice as
// many reduce for all.
Algorithm ring(std::uint32_t ranks, std::int64_t slice, std::uint32_t passes) {
  Algorithm ring{.name = "ring", .ranks = ranks, .steps = {}, .slice = slice, .fill_steps = 0};
  ring.steps.resize(std::size_t{passes} * (ranks - 1));
  for (auto& step : ring.steps) {
    for (std::uint32_t r = 0; r < ranks; ++r) step.push_back({r, (r + 1) % ranks, slice});
  }
  return ring;
}

// Direct: every rank sends each other its slice at once.
Algorithm direct(std::uint32_t ranks, std::int64_t slice) {
  Algorithm all{.name = "direct",
                .ranks = ranks,
                .steps = {{}},
                .slice = slice * (ranks - 1),
                .fill_steps = 0};
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t d = 1; d < ranks; ++d) {
      all.steps[0].push_back({r, (r + d) % ranks, slice});
    }
  }
  return all;
}

// Recursive doubling: partners at distance 1, 2, 4, ... exchange all that they have.
Algorithm doubling(std::uint32_t ranks, std::int64_t slice) {
  Algorithm all{
      .name = "doubling", .ranks = ranks, .steps = {}, .slice = slice * ranks / 2, .fill_steps = 0};
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    auto& step = all.steps.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r) step.push_back({r, r ^ distance, slice * distance});
  }
  return all;
}

// Broadcast down a chain (arity 1) or a binary tree (arity 2), chunk after chunk.
Algorithm pipeline(std::uint32_t ranks, std::int64_t slice, std::uint32_t chunks,
                   std::uint32_t arity) {
  Algorithm tree{.name = "pipeline", .ranks = ranks, .steps = {}, .slice = slice * arity};
  std::vector<std::uint32_t> depth(ranks, 0);
  for (std::uint32_t r = 1; r < ranks; ++r) depth[r] = depth[(r - 1) / arity] + 1;
  tree.steps.resize(chunks + depth.back() - 1);
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t r = 1; r < ranks; ++r) {
      tree.steps[chunk + depth[r] - 1].push_back({(r - 1) / arity, r, slice});
    }
  }
  if (arity == 1) tree.fill_steps = depth.back() - 1;
  return tree;
}

Algorithm draw(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint32_t a, std::uint32_t b) {
    return a + static_cast<std::uint32_t>(random() % (b - a + 1));
  };
  const std::uint32_t ranks = between(2, 9);
  const std::int64_t slice = between(1, 3'000'000);
  switch (seed % 5) {
    case 0:
      return ring(ranks, slice, between(1, 2));
    case 1:
      return direct(ranks, slice);
    case 2:
      return doubling(2U << between(0, 2), slice);
    case 3:
      return pipeline(ranks, slice, between(1, 6), 1);
    default:
      return pipeline(ranks, slice, between(1, 6), 2);
  }
}

// p devices around a crossbar; route r * p + s goes from rank r to rank s.
Machine star(std::uint32_t ranks, Duration latency) {
  Machine machine;
  machine.processes.push_back(
      {.name = "process", .launch_cost = {}, .graph_launch_cost = {}, .max_connections = 128});
  machine.switches.push_back({.name = "crossbar", .capacity = {}});
  for (std::uint32_t r = 0; r < ranks; ++r) {
    Device device{.name = "device",
                  .sms = {.sms_per_gpc = {4},
                          .per_sm = {.threads = 2048,
                                     .registers = 65536,
                                     .shared_memory = 64_KiB,
                                     .cta_slots = 8}},
                  .memory = MemoryId(r),
                  .l2 = {},
                  .engines = {},
                  .interference = {}};
    device.engines.emplace_back().concurrency = static_cast<int>(ranks);
    machine.devices.push_back(device);
    machine.memories.push_back(
        {.name = "hbm", .device = DeviceId(r), .bandwidth = 2_TBps, .size = {}});
    const LinkEnd memory{LinkEnd::Of::memory, r};
    const LinkEnd crossbar{LinkEnd::Of::fabric_switch, 0};
    Link out{.name = "out", .capacity_per_direction = kPort, .latency = latency};
    out.from = memory;
    out.to = crossbar;
    Link in{.name = "in", .capacity_per_direction = kPort, .latency = {}};
    in.from = crossbar;
    in.to = memory;
    machine.links.push_back(out);
    machine.links.push_back(in);
    machine.ranks.push_back({.device = DeviceId(r), .process = ProcessId(0), .sms_per_gpc = {}});
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t s = 0; s < ranks; ++s) {
      Route route;
      route.name = "route";
      route.sources = {MemoryId(r)};
      route.targets = {MemoryId(s)};
      route.shares = {{.on = RouteShare::On::link, .index = 2 * r},
                      {.on = RouteShare::On::link, .index = 2 * s + 1}};
      route.latency = latency;
      machine.routes.push_back(route);
    }
  }
  return machine;
}

// Progress counts in slices of the algorithm, so that uses are whole numbers.
Program gang_of(const Algorithm& algorithm, const Machine& machine, Duration latency) {
  std::vector<std::map<RouteId, std::int64_t>> sent(algorithm.ranks);
  std::int64_t unit = 0;
  for (const auto& step : algorithm.steps) {
    for (const Transfer& t : step) {
      sent[t.from][RouteId(t.from * algorithm.ranks + t.to)] += t.bytes;
      unit = unit == 0 ? t.bytes : std::gcd(unit, t.bytes);
    }
  }
  ProgramBuilder builder;
  std::vector<StreamId> streams;
  for (std::uint32_t r = 0; r < algorithm.ranks; ++r) streams.push_back(builder.stream(RankId(r)));
  GangWriter gang = builder.gang(algorithm.name, Bytes::from(unit), kPort * 64);
  gang.start_latency(latency * static_cast<std::int64_t>(algorithm.steps.size()));
  for (std::uint32_t r = 0; r < algorithm.ranks; ++r) {
    gang.member(RankId(r));
    for (const auto& [route, bytes] : sent[r])
      gang.route(machine, route, bytes / std::max<std::int64_t>(unit, 1));
  }
  const GangId id = gang.id();
  CallWriter calls = builder.thread(ProcessId(0));
  for (std::uint32_t r = 0; r < algorithm.ranks; ++r) {
    calls.launch(streams[r], builder.gang_kernel("member", id, r, 1).id());
  }
  return builder.finish();
}

// One stream a pair of ranks; a rank's step waits for all that the step before sent it.
Program expansion_of(const Algorithm& algorithm) {
  const std::uint32_t ranks = algorithm.ranks;
  ProgramBuilder builder;
  std::map<std::pair<std::uint32_t, std::uint32_t>, StreamId> streams;
  CallWriter calls = builder.thread(ProcessId(0));
  std::vector<std::vector<EventId>> arrived(ranks);
  for (const auto& step : algorithm.steps) {
    std::vector<std::vector<EventId>> next(ranks);
    for (const Transfer& t : step) {
      const std::pair pair(t.from, t.to);
      if (!streams.contains(pair)) streams.emplace(pair, builder.stream(RankId(t.from)));
      const StreamId stream = streams.at(pair);
      for (const EventId event : arrived[t.from]) calls.wait(stream, event);
      calls.copy(stream, 0, RouteId(t.from * ranks + t.to), Bytes::from(t.bytes));
      next[t.to].push_back(builder.event());
      calls.record(stream, next[t.to].back());
    }
    arrived = next;
  }
  return builder.finish();
}

std::map<ResourceKey, double> bytes_by_resource(const RecordedRun& run) {
  Breaches breaches;
  std::map<ResourceKey, double> bytes;
  for (const SharedActivity& activity : shared_activities(run, breaches)) {
    for (const auto& [key, amount] : activity.asks.uses) bytes[key] += amount * activity.progress();
  }
  EXPECT_TRUE(breaches.empty());
  return bytes;
}

void expect_same(const Algorithm& algorithm, Duration latency) {
  SCOPED_TRACE(testing::Message() << algorithm.name << " of " << algorithm.ranks << " ranks, "
                                  << algorithm.steps.size() << " steps, slice " << algorithm.slice
                                  << ", latency " << latency.ps());
  const Machine machine = star(algorithm.ranks, latency);
  const Program gang = gang_of(algorithm, machine, latency);
  const Program expansion = expansion_of(algorithm);
  const RecordedRun together = run_lawfully(machine, gang);
  const RecordedRun by_steps = run_lawfully(machine, expansion);

  const auto expected = bytes_by_resource(by_steps);
  const auto moved = bytes_by_resource(together);
  EXPECT_EQ(moved.size(), expected.size());
  for (const auto& [key, amount] : moved) {
    ASSERT_TRUE(expected.contains(key));
    EXPECT_NEAR(amount, expected.at(key), 1e-6 * amount);
  }
  const auto steps = static_cast<std::int64_t>(algorithm.steps.size());
  const Duration slice = Bytes::from(algorithm.slice) / kPort;
  const Duration fill = (latency + slice) * steps;
  const Duration apart = by_steps.result.end - together.result.end;
  EXPECT_GE(apart, -fill);
  EXPECT_LE(apart, fill);
  if (!algorithm.fill_steps) return;
  // By the derivation above exactly the slices of the fill, but for a picosecond a step.
  const Duration rounding = Duration::from_ps(steps);
  EXPECT_GE(apart, slice * *algorithm.fill_steps - rounding);
  EXPECT_LE(apart, slice * *algorithm.fill_steps + rounding);
}

class GangAgainstExpansion : public testing::TestWithParam<std::uint64_t> {};

TEST_P(GangAgainstExpansion, MovesTheSameBytesInTheSameTimeButForTheFill) {
  const Algorithm algorithm = draw(GetParam());
  for (const std::int64_t latency : {0, 700'000}) {
    expect_same(algorithm, Duration::from_ps(latency));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GangAgainstExpansion, testing::Range<std::uint64_t>(0, 40));

// Where neither a hop nor a slice takes time the two are equal.
TEST(GangAgainstExpansion, AreEqualWhereLatencyAndSliceAreZero) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Algorithm algorithm = draw(seed);
    for (auto& step : algorithm.steps) {
      for (Transfer& t : step) t.bytes = 0;
    }
    const Machine machine = star(algorithm.ranks, {});
    const RecordedRun together = run_lawfully(machine, gang_of(algorithm, machine, {}));
    const RecordedRun by_steps = run_lawfully(machine, expansion_of(algorithm));
    EXPECT_EQ(together.result.end, TimePoint());
    EXPECT_EQ(by_steps.result.end, TimePoint());
  }
}

TEST(GangAgainstExpansion, AreEqualWithoutLatencyWhereStepsAreWholePicoseconds) {
  const Algorithm algorithm = ring(4, 50'000, 1);  // a step of 50 kB at 50 GB/s is 1 us
  const Machine machine = star(4, {});
  const RecordedRun together = run_lawfully(machine, gang_of(algorithm, machine, {}));
  const RecordedRun by_steps = run_lawfully(machine, expansion_of(algorithm));
  EXPECT_EQ(together.result.end, TimePoint() + 3_us);
  EXPECT_EQ(by_steps.result.end, TimePoint() + 3_us);
}

}  // namespace
}  // namespace weft::sim::laws
