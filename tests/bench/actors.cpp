// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/actors.hpp"

#include <random>
#include <string>

#include "sim/program_builder.hpp"

namespace weft::bench {

using namespace weft::literals;

namespace {

constexpr Bandwidth kLink = 50_GBps;

}  // namespace

std::uint64_t Actors::activities() const {
  std::uint64_t count = 0;
  for (const std::vector<Round>& mine : rounds) count += 2 * mine.size();
  return count;
}

Actors draw_actors(std::uint64_t seed, std::uint32_t actors, std::uint32_t rounds) {
  Actors drawn;
  drawn.seed = seed;
  drawn.link = kLink;
  drawn.core = kLink * actors * 8 / 10;
  std::mt19937_64 random(seed);
  const auto time = [&] {
    return 50_us + Duration::from_ps(static_cast<std::int64_t>(random() % 100'000'000));
  };
  for (std::uint32_t a = 0; a < actors; ++a) {
    std::vector<Actors::Round>& mine = drawn.rounds.emplace_back();
    mine.reserve(rounds);
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const Duration computation = time();
      const std::int64_t bytes = time().ps() / 1'000'000 * (kLink.bytes_per_second() / 1'000'000);
      mine.push_back(
          {computation, Bytes::from(bytes + static_cast<std::int64_t>(random() % 50'000))});
    }
  }
  return drawn;
}

sim::Machine machine_of(const Actors& actors) {
  sim::Machine machine;
  machine.name = "actors";
  machine.switches.push_back({.name = "core", .capacity = actors.core});
  for (std::uint32_t a = 0; a < actors.rounds.size(); ++a) {
    const std::string name = std::to_string(a);
    // Memories without a bandwidth are not modelled: the links and the switch alone are shared.
    machine.memories.push_back(
        {.name = "source " + name, .device = sim::DeviceId(a), .bandwidth = {}, .size = {}});
    machine.memories.push_back(
        {.name = "target " + name, .device = std::nullopt, .bandwidth = {}, .size = {}});
    sim::Device device{.name = "device " + name,
                       .sms = {.sms_per_gpc = {1},
                               .per_sm = {.threads = 1024,
                                          .registers = 65536,
                                          .shared_memory = 64_KiB,
                                          .cta_slots = 1}},
                       .memory = sim::MemoryId(2 * a),
                       .l2 = {},
                       .engines = {},
                       .interference = {}};
    device.engines.emplace_back();
    machine.devices.push_back(device);
    machine.links.push_back(
        {.name = "link " + name, .capacity_per_direction = actors.link, .latency = {}});
    sim::Route route;
    route.name = "route " + name;
    route.sources = {sim::MemoryId(2 * a)};
    route.targets = {sim::MemoryId(2 * a + 1)};
    route.shares = {{.on = sim::RouteShare::On::link, .index = a},
                    {.on = sim::RouteShare::On::fabric_switch, .index = 0}};
    machine.routes.push_back(route);
    machine.processes.push_back(
        {.name = "process " + name, .launch_cost = {}, .graph_launch_cost = {}});
    machine.ranks.push_back(
        {.device = sim::DeviceId(a), .process = sim::ProcessId(a), .sms_per_gpc = {}});
  }
  return machine;
}

sim::Program program_of(const Actors& actors) {
  sim::ProgramBuilder builder;
  for (std::uint32_t a = 0; a < actors.rounds.size(); ++a) {
    const sim::StreamId stream = builder.stream(sim::RankId(a));
    sim::CallWriter calls = builder.thread(sim::ProcessId(a));
    for (const Actors::Round& round : actors.rounds[a]) {
      const sim::KernelId kernel = builder.kernel("compute", 1)
                                       .role(sim::Purpose::compute, sim::TileOrder::static_shares)
                                       .range(1, round.computation)
                                       .id();
      calls.launch(stream, kernel).copy(stream, 0, sim::RouteId(a), round.transfer);
    }
  }
  return builder.finish();
}

}  // namespace weft::bench
