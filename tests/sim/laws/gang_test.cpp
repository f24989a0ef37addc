// SPDX-License-Identifier: Apache-2.0
// A gang against its step-by-step expansion: the same bytes on the same ports, and the same time
// but for the pipeline's fill.
//
// Ring all-gather of S bytes over p ranks, B a second each way, a a hop: p - 1 steps in which each
// rank sends S/p to the next, so (p - 1)(a + S/(pB)). As a gang: progress S, (p - 1)/p of it on each
// port, start latency (p - 1) a. Ring all-reduce has twice the steps and the bytes.
#include <map>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/program_builder.hpp"
#include "tests/sim/laws/activities.hpp"

namespace weft::sim::laws {
namespace {

using namespace weft::literals;

constexpr Bandwidth kPort = 50_GBps;

// p devices, each with a port out and a port in; route r goes from rank r to the next.
Machine ring(std::uint32_t p, Duration latency) {
  Machine machine;
  machine.processes.push_back(
      {.name = "process", .launch_cost = {}, .graph_launch_cost = {}, .max_connections = 8});
  for (std::uint32_t r = 0; r < p; ++r) {
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
    device.engines.emplace_back();
    machine.devices.push_back(device);
    machine.memories.push_back(
        {.name = "hbm", .device = DeviceId(r), .bandwidth = 2_TBps, .size = {}});
    machine.links.push_back({.name = "out", .capacity_per_direction = kPort, .latency = latency});
    machine.links.push_back({.name = "in", .capacity_per_direction = kPort, .latency = {}});
    machine.ranks.push_back({.device = DeviceId(r), .process = ProcessId(0), .sms_per_gpc = {}});
    Route route;
    route.name = "next";
    route.sources = {MemoryId(r)};
    route.targets = {MemoryId((r + 1) % p)};
    route.shares = {{.on = RouteShare::On::link, .index = 2 * r},
                    {.on = RouteShare::On::link, .index = 2 * ((r + 1) % p) + 1}};
    route.latency = latency;
    machine.routes.push_back(route);
  }
  return machine;
}

Program gang_of(const Machine& machine, std::uint32_t steps, Bytes bytes, Duration latency) {
  const auto p = static_cast<std::uint32_t>(machine.ranks.size());
  ProgramBuilder builder;
  std::vector<StreamId> streams;
  for (std::uint32_t r = 0; r < p; ++r) streams.push_back(builder.stream(RankId(r)));
  GangWriter gang = builder.gang("all-gather", bytes, kPort * 8);
  gang.denominator(p).start_latency(latency * steps);
  for (std::uint32_t r = 0; r < p; ++r) gang.member(RankId(r)).route(machine, RouteId(r), steps);
  const GangId id = gang.id();
  CallWriter calls = builder.thread(ProcessId(0));
  for (std::uint32_t r = 0; r < p; ++r) {
    calls.launch(streams[r], builder.gang_kernel("member", id, r, 1).id());
  }
  return builder.finish();
}

// Each step of a rank waits for the arrival of the step before from its neighbour.
Program expansion_of(const Machine& machine, std::uint32_t steps, Bytes bytes) {
  const auto p = static_cast<std::uint32_t>(machine.ranks.size());
  ProgramBuilder builder;
  std::vector<StreamId> streams;
  for (std::uint32_t r = 0; r < p; ++r) streams.push_back(builder.stream(RankId(r)));
  CallWriter calls = builder.thread(ProcessId(0));
  std::vector<EventId> arrived;
  for (std::uint32_t step = 0; step < steps; ++step) {
    std::vector<EventId> next;
    for (std::uint32_t r = 0; r < p; ++r) {
      if (step > 0) calls.wait(streams[r], arrived[(r + p - 1) % p]);
      calls.copy(streams[r], 0, RouteId(r), bytes / p);
      next.push_back(builder.event());
      calls.record(streams[r], next.back());
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

class GangAgainstExpansion
    : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> {};

TEST_P(GangAgainstExpansion, MovesTheSameBytesInTheSameTimeButForTheFill) {
  const auto [p, passes, latency_ps] = GetParam();
  const Duration latency = Duration::from_ps(latency_ps);
  const std::uint32_t steps = passes * (p - 1);
  const Bytes bytes = 1_MiB * p;
  const Machine machine = ring(p, latency);
  const Program gang = gang_of(machine, steps, bytes, latency);
  const Program expansion = expansion_of(machine, steps, bytes);
  const RecordedRun together = run_lawfully(machine, gang);
  const RecordedRun by_steps = run_lawfully(machine, expansion);

  const auto expected = bytes_by_resource(by_steps);
  for (const auto& [key, amount] : bytes_by_resource(together)) {
    EXPECT_NEAR(amount, expected.at(key), 1e-6 * amount);
  }
  const Duration slice = bytes / p / kPort;
  const Duration fill = (latency + slice) * steps;
  const Duration apart = together.result.end - by_steps.result.end;
  EXPECT_LE(apart, fill);
  EXPECT_GE(apart, -fill);
  // Nothing is sliced finer than a step here, so that the fill is rounding: a picosecond a step.
  EXPECT_LE(apart, Duration::from_ps(steps));
  EXPECT_GE(apart, -Duration::from_ps(steps));
}

INSTANTIATE_TEST_SUITE_P(RingPassesLatency, GangAgainstExpansion,
                         testing::Combine(testing::Values(2U, 4U, 8U), testing::Values(1U, 2U),
                                          testing::Values(0, 700'000)));

TEST(GangAgainstExpansion, AreEqualWithoutLatencyWhereStepsAreWholePicoseconds) {
  const Machine machine = ring(4, {});
  const Bytes bytes = Bytes::from(4 * 50'000);  // a step of 50 kB at 50 GB/s is 1 us
  const RecordedRun together = run_lawfully(machine, gang_of(machine, 3, bytes, {}));
  const RecordedRun by_steps = run_lawfully(machine, expansion_of(machine, 3, bytes));
  EXPECT_EQ(together.result.end, TimePoint() + 3_us);
  EXPECT_EQ(by_steps.result.end, TimePoint() + 3_us);
}

}  // namespace
}  // namespace weft::sim::laws
