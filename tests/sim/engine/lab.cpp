// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/engine/lab.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace weft::sim::lab {

Machine machine(const LabOptions& options) {
  Machine machine;
  machine.name = "lab";
  machine.control = options.control;
  machine.processes.push_back({.name = "host", .max_connections = options.max_connections});
  const auto devices = static_cast<std::uint32_t>(options.devices);
  for (std::uint32_t d = 0; d < devices; ++d) {
    Device device{.name = fmt::format("gpu{}", d),
                  .sms = {options.sms_per_gpc, options.per_sm},
                  .memory = MemoryId(d)};
    for (int e = 0; e < options.copy_engines; ++e) {
      device.engines.push_back({.name = fmt::format("ce{}", e)});
    }
    machine.devices.push_back(device);
    machine.memories.push_back({.name = fmt::format("hbm{}", d),
                                .device = DeviceId(d),
                                .bandwidth = options.memory,
                                .size = Bytes::from(1LL << 37)});
    machine.links.push_back(
        {.name = fmt::format("egress{}", d), .capacity_per_direction = options.link});
    machine.links.push_back(
        {.name = fmt::format("ingress{}", d), .capacity_per_direction = options.link});
    machine.ranks.push_back({.device = DeviceId(d), .process = ProcessId(0)});
  }
  machine.memories.push_back(
      {.name = "host", .device = {}, .bandwidth = options.link, .size = Bytes::from(1LL << 40)});
  for (std::uint32_t s = 0; s <= devices; ++s) {
    for (std::uint32_t t = 0; t <= devices; ++t) {
      if (s == t) continue;
      Route route{
          .name = fmt::format("{}->{}", s, t), .sources = {MemoryId(s)}, .targets = {MemoryId(t)}};
      if (s < devices) route.shares.push_back({.index = 2 * s});
      if (t < devices) route.shares.push_back({.index = 2 * t + 1});
      machine.routes.push_back(route);
    }
  }
  return machine;
}

RouteId route(const Machine& machine, std::uint32_t from, std::uint32_t to) {
  const auto route = machine.route(MemoryId(from), MemoryId(to));
  if (!route) throw std::out_of_range("no such route in the lab");
  return *route;
}

CommandSpan Tape::command(std::uint32_t index) const {
  for (const CommandSpan& span : commands) {
    if (span.command == CommandRef{.thread = 0, .index = index}) return span;
  }
  throw std::out_of_range("no span of this command");
}

Duration Tape::stalled(std::uint32_t index, StallReason reason) const {
  Duration sum;
  for (const Stall& stall : stalls) {
    if (stall.command != CommandRef{.thread = 0, .index = index}) continue;
    if (stall.reason != reason) continue;
    sum += (stall.end - stall.start) * (stall.ctas == 0 ? 1 : stall.ctas);
  }
  return sum;
}

RunResult run(const Machine& machine, const Program& program, Tape& tape, const Effects& effects) {
  RecordSink* const sinks[] = {&tape};
  return sim::run(machine, program, {.effects = effects, .races = {}}, sinks);
}

Duration end_of(const Machine& machine, const Program& program, const Effects& effects) {
  return sim::run(machine, program, {.effects = effects, .races = {}}).end.since_start();
}

Footprint whole_sm() {
  return {.threads = 1024, .registers = 65536};
}

}  // namespace weft::sim::lab
