// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/validate.hpp"

#include <algorithm>

#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

void validate_device(const Machine& machine, std::size_t index) {
  const Device& device = machine.devices[index];
  WEFT_CHECK(device.memory.value() < machine.memories.size(),
             "device {} \"{}\" has memory {}, which does not exist", index, device.name,
             device.memory.value());
  const std::optional<DeviceId>& owner = machine.memories[device.memory.value()].device;
  WEFT_CHECK(owner && owner->value() == index, "the memory of device {} \"{}\" is not its own",
             index, device.name);
  WEFT_CHECK(device.sms.per_sm.cta_slots >= 1 && device.sms.per_sm.cta_slots <= kMostCtasPerSm,
             "an SM of device {} \"{}\" holds {} CTAs; it must be 1 to {}", index, device.name,
             device.sms.per_sm.cta_slots, kMostCtasPerSm);
  WEFT_CHECK(device.speed_permille > 0, "device {} \"{}\" has a speed of {} / 1000", index,
             device.name, device.speed_permille);
  for (const TransportEngine& engine : device.engines) {
    WEFT_CHECK(engine.concurrency >= 1 && engine.weight_milli_ctas >= 1 &&
                   engine.start_cost.ps() >= 0 &&
                   (!engine.rate || engine.rate->bytes_per_second() > 0),
               "engine \"{}\" of device \"{}\" has a concurrency of {} and a weight of {}",
               engine.name, device.name, engine.concurrency, engine.weight_milli_ctas);
  }
}

void validate_route(const Machine& machine, const Route& route) {
  auto known = [&](const std::vector<MemoryId>& memories) {
    return !memories.empty() && std::all_of(memories.begin(), memories.end(), [&](MemoryId m) {
      return m.value() < machine.memories.size();
    });
  };
  WEFT_CHECK(known(route.sources) && known(route.targets),
             "route \"{}\" does not lead from memories to memories", route.name);
  WEFT_CHECK(route.denominator >= 1 && route.latency.ps() >= 0,
             "route \"{}\" is striped over {} and has a latency of {} ps", route.name,
             route.denominator, route.latency.ps());
  WEFT_CHECK(!route.nic || route.nic->value() < machine.nics.size(),
             "route \"{}\" leaves by a NIC that does not exist", route.name);
  for (const RouteShare& share : route.shares) {
    const std::size_t size =
        share.on == RouteShare::On::link ? machine.links.size() : machine.switches.size();
    WEFT_CHECK(share.index < size && share.numerator >= 0,
               "route \"{}\" has a share of {} on link or switch {} of {}", route.name,
               share.numerator, share.index, size);
  }
}

// Ranks of one device either all have the whole of it, or each a partition of its own.
void validate_partitions(const Machine& machine) {
  std::vector<std::vector<int>> taken(machine.devices.size());
  std::vector<int> whole(machine.devices.size(), 0);
  std::vector<int> parts(machine.devices.size(), 0);
  for (std::size_t i = 0; i < machine.ranks.size(); ++i) {
    const Rank& rank = machine.ranks[i];
    WEFT_CHECK(rank.device.value() < machine.devices.size() &&
                   rank.process.value() < machine.processes.size(),
               "rank {} is of device {} and process {}", i, rank.device.value(),
               rank.process.value());
    const std::vector<int>& gpcs = machine.devices[rank.device.value()].sms.sms_per_gpc;
    if (rank.sms_per_gpc.empty()) {
      ++whole[rank.device.value()];
      continue;
    }
    ++parts[rank.device.value()];
    WEFT_CHECK(rank.sms_per_gpc.size() <= gpcs.size(), "rank {} takes SMs of {} GPCs out of {}", i,
               rank.sms_per_gpc.size(), gpcs.size());
    std::vector<int>& used = taken[rank.device.value()];
    used.resize(gpcs.size());
    for (std::size_t g = 0; g < rank.sms_per_gpc.size(); ++g) {
      used[g] += rank.sms_per_gpc[g];
      WEFT_CHECK(rank.sms_per_gpc[g] >= 0 && used[g] <= gpcs[g],
                 "the partitions of device {} take {} of the {} SMs of GPC {}", rank.device.value(),
                 used[g], gpcs[g], g);
    }
  }
  for (std::size_t d = 0; d < machine.devices.size(); ++d) {
    WEFT_CHECK(whole[d] == 0 || parts[d] == 0,
               "some ranks of device {} have a partition of it and others all of it", d);
  }
}

}  // namespace

void validate(const Machine& machine) {
  for (std::size_t i = 0; i < machine.memories.size(); ++i) {
    const std::optional<DeviceId>& device = machine.memories[i].device;
    WEFT_CHECK(!device || device->value() < machine.devices.size(),
               "memory {} is of device {}, which does not exist", i, device->value());
  }
  for (std::size_t i = 0; i < machine.devices.size(); ++i) validate_device(machine, i);
  for (const Route& route : machine.routes) validate_route(machine, route);
  for (const Nic& nic : machine.nics) {
    WEFT_CHECK(nic.queue_pairs >= 1, "NIC \"{}\" has {} queue pairs", nic.name, nic.queue_pairs);
  }
  for (const Process& process : machine.processes) {
    WEFT_CHECK(process.max_connections >= 1, "process \"{}\" has {} hardware queues", process.name,
               process.max_connections);
  }
  validate_partitions(machine);
  WEFT_CHECK(machine.control.launch_jitter <= machine.control.launch,
             "the launch jitter of {} ps is longer than the launch of {} ps",
             machine.control.launch_jitter.ps(), machine.control.launch.ps());
}

}  // namespace weft::sim::engine
