// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/laws/random_machine.hpp"

#include <algorithm>

namespace weft::sim::laws {

namespace {

constexpr int kThreads = 2048;
constexpr int kRegisters = 65536;
constexpr std::int64_t kSharedMemory = 228 * 1024;
constexpr std::int64_t kNicRate = 25'000'000'000;
constexpr std::int64_t kHostLinkRate = 40'000'000'000;
constexpr std::int64_t kHostRate = 100'000'000'000;
constexpr std::int64_t kMessageCost = 500'000;

Bandwidth rate(std::int64_t bytes_per_second) {
  return Bandwidth::from_bytes_per_second(bytes_per_second);
}

LinkEnd memory_end(std::uint32_t memory) {
  return {LinkEnd::Of::memory, memory};
}

LinkEnd switch_end(std::uint32_t fabric_switch) {
  return {LinkEnd::Of::fabric_switch, fabric_switch};
}

LinkEnd nic_end(std::uint32_t nic) {
  return {LinkEnd::Of::nic, nic};
}

}  // namespace

DrawnMachine::DrawnMachine(const Case& drawn, const Assembly& how, const std::vector<int>& rank_at)
    : case_(drawn), how_(how), devices_(static_cast<std::uint32_t>(drawn.devices.size())) {
  place_.assign(drawn.devices.size(), devices_);
  for (const int rank : rank_at) {
    const int device = drawn.ranks[static_cast<std::size_t>(rank)].device;
    std::uint32_t& place = place_[static_cast<std::size_t>(device)];
    if (place != devices_) continue;
    place = static_cast<std::uint32_t>(drawn_at_.size());
    drawn_at_.push_back(device);
  }
  machine_.name = "drawn";
  machine_.control = drawn.control;
  ControlLatency& control = machine_.control;
  for (Duration* d : {&control.launch, &control.kernel_drain, &control.event_hop,
                      &control.signal_same_sm, &control.signal_same_device, &control.signal_peer,
                      &control.signal_host, &control.stream_write, &control.stream_wait,
                      &control.stream_poll, &control.launch_jitter}) {
    *d = *d * how.time_scale;
  }
  if (control.stream_wait_there)
    control.stream_wait_there = *control.stream_wait_there * how.time_scale;
  make_switches();
  for (std::uint32_t d = 0; d < devices_; ++d) {
    make_device(case_.devices[static_cast<std::size_t>(drawn_at_[d])], d);
  }
  machine_.memories.push_back({.name = "host",
                               .device = {},
                               .bandwidth = rate(kHostRate),
                               .size = Bytes::from(std::int64_t{1} << 40)});
  for (std::uint32_t d = 0; d < devices_; ++d) {
    make_links(case_.devices[static_cast<std::size_t>(drawn_at_[d])], d);
  }
  const std::uint32_t spine = static_cast<std::uint32_t>(case_.planes);
  for (std::uint32_t n = 0; n < case_.nics.size(); ++n) {
    machine_.nics.push_back(
        {.name = "nic", .queue_pairs = case_.nics[n], .message_cost = time(kMessageCost)});
    add_link("wire out", kNicRate, nic_end(n), switch_end(spine));
    add_link("wire in", kNicRate, switch_end(spine), nic_end(n));
  }
  for (const int rank : rank_at) make_rank(case_.ranks[static_cast<std::size_t>(rank)]);
  make_routes();
}

void DrawnMachine::make_switches() {
  for (int p = 0; p < case_.planes; ++p) {
    Switch plane;
    plane.name = "plane";
    plane.multicasts = true;
    plane.reduces = true;
    if (case_.plane_capacity > 0) plane.capacity = rate(case_.plane_capacity);
    machine_.switches.push_back(plane);
  }
  Switch spine;
  spine.name = "spine";
  machine_.switches.push_back(spine);
}

void DrawnMachine::make_device(const DeviceCase& drawn, std::uint32_t at) {
  Device device{.name = "device", .memory = MemoryId(at)};
  device.sms.sms_per_gpc = drawn.sms_per_gpc;
  device.sms.per_sm = {.threads = kThreads,
                       .registers = kRegisters,
                       .shared_memory = Bytes::from(kSharedMemory),
                       .cta_slots = drawn.cta_slots};
  device.l2 = rate(drawn.l2);
  device.interference = drawn.terms;
  device.speed_permille = drawn.speed_permille;
  for (const DeviceCase::Engine& engine : drawn.engines) {
    TransportEngine made;
    made.start_cost = time(engine.start_cost);
    made.concurrency = engine.concurrency;
    if (engine.rate > 0) made.rate = rate(engine.rate);
    made.weight_milli_ctas = engine.weight;
    device.engines.push_back(made);
  }
  machine_.devices.push_back(device);
  machine_.memories.push_back({.name = "hbm",
                               .device = DeviceId(at),
                               .bandwidth = rate(drawn.hbm),
                               .size = Bytes::from(std::int64_t{1} << 40)});
}

void DrawnMachine::add_link(const char* name, std::int64_t capacity, LinkEnd from, LinkEnd to) {
  Link link;
  link.name = name;
  link.capacity_per_direction = rate(capacity);
  link.latency = time(case_.hop_latency);
  link.from = from;
  link.to = to;
  machine_.links.push_back(link);
}

void DrawnMachine::make_links(const DeviceCase& drawn, std::uint32_t at) {
  for (std::uint32_t p = 0; p < static_cast<std::uint32_t>(case_.planes); ++p) {
    const std::int64_t port = drawn.port / case_.planes;
    add_link("port out", port, memory_end(at), switch_end(p));
    add_link("port in", port, switch_end(p), memory_end(at));
  }
  const LinkEnd nic = nic_end(nic_of(at));
  add_link("to NIC", kHostLinkRate, memory_end(at), nic);
  add_link("from NIC", kHostLinkRate, nic, memory_end(at));
  add_link("to host", kHostLinkRate, memory_end(at), memory_end(devices_));
  add_link("from host", kHostLinkRate, memory_end(devices_), memory_end(at));
}

void DrawnMachine::make_rank(const RankCase& drawn) {
  const auto process = static_cast<std::uint32_t>(machine_.processes.size());
  machine_.processes.push_back({.name = "process",
                                .launch_cost = time(drawn.launch_cost),
                                .graph_launch_cost = time(drawn.launch_cost),
                                .max_connections = drawn.max_connections});
  machine_.ranks.push_back({.device = DeviceId(place_[static_cast<std::size_t>(drawn.device)]),
                            .process = ProcessId(process),
                            .sms_per_gpc = drawn.partition});
}

std::uint32_t DrawnMachine::nic_of(std::uint32_t device) const {
  return static_cast<std::uint32_t>(case_.devices[static_cast<std::size_t>(drawn_at_[device])].nic);
}

// Routes: [from][to] by the planes, then [from][to] by the rails, then for each device to all
// others, from all others, to the host and from it.
void DrawnMachine::make_routes() {
  for (std::uint32_t from = 0; from < devices_; ++from) {
    for (std::uint32_t to = 0; to < devices_; ++to) {
      machine_.routes.push_back(planes_route(Route::Kind::unicast, {from}, {to}));
    }
  }
  for (std::uint32_t from = 0; from < devices_; ++from) {
    for (std::uint32_t to = 0; to < devices_; ++to) machine_.routes.push_back(rail_route(from, to));
  }
  for (std::uint32_t device = 0; device < devices_; ++device) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t other = 0; other < devices_; ++other) {
      if (other != device) others.push_back(other);
    }
    if (others.empty()) others.push_back(device);
    machine_.routes.push_back(planes_route(Route::Kind::multicast, {device}, others));
    machine_.routes.push_back(planes_route(Route::Kind::reduce, others, {device}));
    machine_.routes.push_back(host_route(device, false));
    machine_.routes.push_back(host_route(device, true));
  }
}

RouteId DrawnMachine::route(int rank, const WayCase& way) const {
  const std::uint32_t own = device_of(rank);
  const std::uint32_t trees = 2 * devices_ * devices_ + 4 * own;
  switch (way.over) {
    case WayCase::Over::peer:
      break;
    case WayCase::Over::multicast:
      return RouteId(trees);
    case WayCase::Over::reduce:
      return RouteId(trees + 1);
    case WayCase::Over::to_host:
      return RouteId(trees + 2);
    case WayCase::Over::from_host:
      return RouteId(trees + 3);
  }
  return RouteId(own * devices_ + device_of(way.peer));
}

RouteId DrawnMachine::rail(int from, int to) const {
  return RouteId((devices_ + device_of(from)) * devices_ + device_of(to));
}

Route DrawnMachine::planes_route(Route::Kind kind, const std::vector<std::uint32_t>& from,
                                 const std::vector<std::uint32_t>& to) const {
  Route route;
  route.kind = kind;
  route.name = "planes";
  for (const std::uint32_t source : from) route.sources.emplace_back(source);
  for (const std::uint32_t target : to) route.targets.emplace_back(target);
  if (from == to) return route;  // within a memory
  route.denominator = case_.planes;
  route.latency = time(2 * case_.hop_latency);
  for (int p = 0; p < case_.planes; ++p) {
    for (const std::uint32_t source : from) {
      route.shares.push_back({.on = RouteShare::On::link, .index = link(source, p, 0)});
    }
    route.shares.push_back(
        {.on = RouteShare::On::fabric_switch, .index = static_cast<std::uint32_t>(p)});
    for (const std::uint32_t target : to) {
      route.shares.push_back({.on = RouteShare::On::link, .index = link(target, p, 1)});
    }
  }
  return route;
}

// Through the NIC and back where both ends have the same.
Route DrawnMachine::rail_route(std::uint32_t from, std::uint32_t to) const {
  Route route;
  route.name = "rail";
  route.sources = {MemoryId(from)};
  route.targets = {MemoryId(to)};
  route.nic = NicId(nic_of(from));
  route.shares.push_back({.on = RouteShare::On::link, .index = to_nic(from, 0)});
  if (nic_of(from) != nic_of(to)) {
    route.shares.push_back({.on = RouteShare::On::link, .index = wire(nic_of(from), 0)});
    route.shares.push_back({.on = RouteShare::On::link, .index = wire(nic_of(to), 1)});
  }
  route.shares.push_back({.on = RouteShare::On::link, .index = to_nic(to, 1)});
  route.latency = time(2 * case_.hop_latency);
  return route;
}

Route DrawnMachine::host_route(std::uint32_t device, bool from_host) const {
  Route route;
  route.name = from_host ? "from host" : "to host";
  route.sources = {from_host ? host() : MemoryId(device)};
  route.targets = {from_host ? MemoryId(device) : host()};
  route.shares = {{.on = RouteShare::On::link, .index = to_host(device, from_host ? 1 : 0)}};
  route.latency = time(case_.hop_latency);
  return route;
}

}  // namespace weft::sim::laws
