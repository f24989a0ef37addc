// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/site.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/schedules/site_fabric.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

Bandwidth scaled(Bandwidth bandwidth, double factor) {
  return Bandwidth::from_bytes_per_second(
      std::llround(static_cast<double>(bandwidth.bytes_per_second()) * factor));
}

// The profile's entry for a path, if it has one: what is not calibrated stays as the machine file says.
template <class Costs>
const Costs* on_path(const std::vector<Costs>& all, CopyPath path) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Costs& each) { return each.path == path; });
  return found == all.end() ? nullptr : &*found;
}

CopyPath path_of(sim::EngineDirection direction, bool peers) {
  switch (direction) {
    case sim::EngineDirection::inbound:
      return peers ? CopyPath::from_peer : CopyPath::from_host;
    case sim::EngineDirection::outbound:
    case sim::EngineDirection::any:
      return peers ? CopyPath::to_peer : CopyPath::to_host;
    case sim::EngineDirection::local:
      return CopyPath::same_device;
  }
  return CopyPath::same_device;
}

void apply_control(const ControlCosts& costs, bool peers, sim::Machine& machine) {
  sim::ControlLatency& control = machine.control;
  control.launch = costs.launch.value;
  control.kernel_drain = costs.kernel_drain.value;
  control.event_hop = costs.event_hop.value;
  control.signal_same_sm = costs.signal_same_sm.value;
  control.signal_same_device = costs.signal_same_device.value;
  control.signal_peer = costs.signal_peer.value;
  control.signal_host = costs.signal_host.value;
  control.stream_write =
      (peers ? costs.stream_write_peers.value_or(costs.stream_write) : costs.stream_write).value;
  control.stream_wait =
      (peers ? costs.stream_wait_peers.value_or(costs.stream_wait) : costs.stream_wait).value;
  if (!peers && costs.stream_wait_there) control.stream_wait_there = costs.stream_wait_there->value;
  control.stream_poll = costs.stream_poll ? costs.stream_poll->value : Duration();
  control.launch_jitter = costs.launch_jitter.value;
  for (sim::Process& process : machine.processes) {
    process.launch_cost = costs.host_call.value;
    process.graph_launch_cost = costs.graph_launch.value;
  }
}

void apply_engines(const Profile& profile, bool peers, sim::Machine& machine) {
  for (sim::Device& device : machine.devices) {
    for (sim::TransportEngine& engine : device.engines) {
      const CopyEngineCosts* costs =
          on_path(profile.copy_engines, path_of(engine.direction, peers));
      if (costs == nullptr)
        costs = on_path(profile.copy_engines, path_of(engine.direction, !peers));
      if (costs == nullptr) continue;
      engine.start_cost = costs->start.value;
      engine.rate = costs->rate.value;
    }
  }
}

// A measured start holds the latency of the path, which the engine charges by itself.
void take_off_latency(Duration latency, sim::Device& device) {
  for (sim::TransportEngine& engine : device.engines) {
    if (engine.direction != sim::EngineDirection::local)
      engine.start_cost = std::max(Duration(), engine.start_cost - latency);
  }
}

// Links between devices of a node carry the share of their raw rate that the profile's device was seen to reach
// between two of them: the rest is packet headers, whoever sends.
void apply_peer_links(const Profile& profile, topology::Built& built) {
  const CopyEngineCosts* costs = on_path(profile.copy_engines, CopyPath::to_peer);
  if (costs == nullptr) return;
  const double reached =
      static_cast<double>(costs->rate.value.bytes_per_second()) /
      static_cast<double>(profile.gpu.link_per_direction.value.bytes_per_second());
  if (reached >= 1) return;
  std::set<std::uint32_t> links;
  const auto add = [&](const sim::Route& route) {
    for (const sim::RouteShare& share : route.shares) {
      if (share.on == sim::RouteShare::On::link) links.insert(share.index);
    }
  };
  for (std::size_t from = 0; from < built.unicast.size(); ++from) {
    for (std::size_t to = 0; to < built.unicast.size(); ++to) {
      const sim::Route& route = built.machine.routes.at(built.unicast[from][to].value());
      if (from != to && !route.nic) add(route);
    }
  }
  for (const auto* trees : {&built.reduce, &built.multicast}) {
    for (const sim::RouteId id : *trees) add(built.machine.routes.at(id.value()));
  }
  for (const std::uint32_t index : links) {
    Bandwidth& capacity = built.machine.links.at(index).capacity_per_direction;
    capacity = scaled(capacity, reached);
  }
}

// What the path to host memory really carries bounds its links: their raw rate counts packet headers.
void apply_host_links(const Profile& profile, topology::Built& built) {
  const auto bound = [&](const std::vector<sim::RouteId>& routes, CopyPath path) {
    const CopyEngineCosts* costs = on_path(profile.copy_engines, path);
    if (costs == nullptr) return;
    for (const sim::RouteId id : routes) {
      for (const sim::RouteShare& share : built.machine.routes.at(id.value()).shares) {
        if (share.on != sim::RouteShare::On::link) continue;
        sim::Link& link = built.machine.links.at(share.index);
        link.capacity_per_direction = std::min(link.capacity_per_direction, costs->rate.value);
      }
    }
  };
  bound(built.from_host, CopyPath::from_host);
  bound(built.to_host, CopyPath::to_host);

  // Both ways at once a device's path carries less than twice what it carries one way: its first switch, which
  // no other device uses, passes no more.
  const CopyEngineCosts* costs = on_path(profile.copy_engines, CopyPath::to_host);
  if (costs == nullptr) return;
  std::map<std::uint32_t, std::set<std::uint32_t>> users;  // of a switch: devices
  for (std::size_t rank = 0; rank < built.to_host.size(); ++rank) {
    for (const sim::RouteShare& share :
         built.machine.routes.at(built.to_host[rank].value()).shares) {
      if (share.on == sim::RouteShare::On::fabric_switch)
        users[share.index].insert(built.machine.ranks[rank].device.value());
    }
  }
  for (const auto& [index, devices] : users) {
    if (devices.size() > 1) continue;
    std::optional<Bandwidth>& capacity = built.machine.switches.at(index).capacity;
    const Bandwidth both = costs->duplex_rate.value * 2;
    if (!capacity || both < *capacity) capacity = both;
  }
}

// A route like `id` whose bytes weigh more on the switch that both directions share: loaded both ways, SMs reach no
// more than their own duplex rate. None where that is not known.
std::optional<sim::RouteId> route_of_sms(const Profile& profile, sim::RouteId id, CopyPath path,
                                         topology::Built& built) {
  const CopyEngineCosts* engine = on_path(profile.copy_engines, path);
  const SmCopyCosts* sms = on_path(profile.sm_copies, path);
  if (engine == nullptr || sms == nullptr || !sms->duplex_cap) return std::nullopt;
  constexpr std::int64_t parts = 1000;
  const std::int64_t weight = narrow(Int128{engine->duplex_rate.value.bytes_per_second()} * parts /
                                     sms->duplex_cap->value.bytes_per_second());
  sim::Route route = built.machine.routes.at(id.value());
  route.name += ".sms";
  route.denominator *= parts;
  for (sim::RouteShare& share : route.shares) {
    const bool shared = share.on == sim::RouteShare::On::fabric_switch &&
                        built.machine.switches.at(share.index).capacity.has_value();
    share.numerator *= shared ? std::max(parts, weight) : parts;
  }
  built.machine.routes.push_back(std::move(route));
  return sim::RouteId(static_cast<std::uint32_t>(built.machine.routes.size() - 1));
}

sim::Interference::Access access_of(InterferingAccess access) {
  switch (access) {
    case InterferingAccess::posted_write:
      return sim::Interference::Access::posted_write;
    case InterferingAccess::read:
      return sim::Interference::Access::read;
    case InterferingAccess::engine_copy:
      break;
  }
  return sim::Interference::Access::engine_copy;
}

// Whether what CTAs send each other takes the way to host memory, as between GPUs behind one PCIe switch: links of
// their own between GPUs queue nothing that holds a device back.
bool peers_take_the_host_path(const topology::Built& built) {
  std::set<std::uint32_t> links;
  const auto each_link = [&](sim::RouteId id, const auto& visit) {
    for (const sim::RouteShare& share : built.machine.routes.at(id.value()).shares) {
      if (share.on == sim::RouteShare::On::link) visit(share.index);
    }
  };
  for (const auto* routes : {&built.from_host, &built.to_host}) {
    for (const sim::RouteId id : *routes)
      each_link(id, [&](std::uint32_t link) { links.insert(link); });
  }
  bool shared = false;
  for (const auto& routes : built.unicast) {
    for (const sim::RouteId id : routes) {
      if (!built.machine.routes.at(id.value()).nic)
        each_link(id, [&](std::uint32_t link) { shared = shared || links.contains(link); });
    }
  }
  return shared;
}

sim::Interference interference_of(const InterferenceTerm& term) {
  sim::Interference value;
  value.name = term.name;
  value.full_link = term.full_link;
  if (term.launch) value.launch = term.launch->value;
  if (term.round_trip) value.round_trip = term.round_trip->value;
  value.access = access_of(*term.access);
  for (const InterferencePoint& point : term.points)
    value.points.push_back(
        {static_cast<int>(point.ctas), std::llround(point.slow_down.value * 1000)});
  return value;
}

// Slow-downs of products beside traffic that the engine runs by itself. Those below a link's rate are of the path to
// host memory, whose loads and stores wait for long whether it is full or not.
void apply_interference(const Profile& profile, bool full_link, sim::Machine& machine) {
  for (const InterferenceTerm& term : profile.interference) {
    if (!term.access || term.points.empty() || term.between_devices) continue;
    if (term.full_link != full_link) continue;
    for (sim::Device& device : machine.devices)
      device.interference.push_back(interference_of(term));
  }
}

// Those of traffic between devices over links of their own: what comes passes the L2 and the HBM of a device, whether
// a link is full or not.
void apply_interference_between_devices(const Profile& profile, sim::Machine& machine) {
  for (const InterferenceTerm& term : profile.interference) {
    if (!term.access || term.points.empty() || !term.between_devices) continue;
    sim::Interference value = interference_of(term);
    const bool by_ctas = *term.access != InterferingAccess::engine_copy;
    for (const bool full_link : {false, true}) {
      value.full_link = full_link;
      if (full_link && !by_ctas) continue;
      for (sim::Device& device : machine.devices) device.interference.push_back(value);
    }
  }
}

void apply_memory(const Profile& profile, sim::Machine& machine) {
  // The L2 rate that the cost of products counts with: a lower one would slow their tiles once more.
  if (profile.gemm) {
    for (sim::Device& device : machine.devices)
      device.l2 = scaled(profile.gpu.l2.value, profile.gemm->l2_efficiency.value);
  }
  if (!profile.memory) return;
  double efficiency = profile.memory->hbm_efficiency.value;
  // What copies reach, which read as much as they write. Parts of a device that multiply at once read far more than they
  // write: half way to what products reach, which read.
  const bool parts = std::any_of(machine.ranks.begin(), machine.ranks.end(),
                                 [](const sim::Rank& rank) { return !rank.sms_per_gpc.empty(); });
  if (parts && profile.gemm) efficiency = (efficiency + profile.gemm->hbm_efficiency.value) / 2;
  for (sim::Memory& memory : machine.memories) {
    if (memory.device) memory.bandwidth = scaled(memory.bandwidth, efficiency);
  }
}

CollectiveProblem group_of(const topology::Built& built) {
  CollectiveProblem group;
  const std::vector<std::int64_t>& node_of = built.node_of_rank;
  group.ranks = static_cast<std::int64_t>(node_of.size());
  group.nodes =
      static_cast<std::int64_t>(std::set<std::int64_t>(node_of.begin(), node_of.end()).size());
  for (std::size_t rank = 0; rank < node_of.size(); ++rank) {
    if (node_of[rank] != node_of[(rank + 1) % node_of.size()]) ++group.crossings;
  }
  return group;
}

}  // namespace

SmBudget Site::sms(int rank, int margin) const {
  const sim::Rank& place = built.machine.ranks.at(static_cast<std::size_t>(rank));
  SmBudget budget{place.sms_per_gpc.empty() ? built.machine.device(place.device).sms.sms_per_gpc
                                            : place.sms_per_gpc,
                  0, 0};
  WEFT_CHECK(margin >= 0 && margin < budget.sms(), "a margin of {} leaves nothing of {} SMs",
             margin, budget.sms());
  if (!place.sms_per_gpc.empty()) {
    budget.parts_at_work =
        std::count_if(built.machine.ranks.begin(), built.machine.ranks.end(),
                      [&](const sim::Rank& other) { return other.device == place.device; });
  }
  // What is left free may lie in any GPC: it is the grid that becomes smaller.
  if (margin > 0) budget.most = budget.sms() - margin;
  return budget;
}

Site make_site(const topology::MachineSpec& machine, const Profile& profile,
               const std::vector<topology::RankPlace>& places,
               const std::vector<topology::Override>& overrides, CostModel model) {
  Site site;
  site.built = topology::build(machine, places, overrides);
  site.profile = profile;
  const bool peers = site.built.machine.devices.size() > 1;
  // The library's collectives are priced by the raw rate.
  site.fabric = fabric_between(site.built);
  apply_control(profile.control, peers, site.built.machine);
  apply_engines(profile, peers, site.built.machine);
  for (sim::Device& device : site.built.machine.devices)
    take_off_latency(site.fabric.gpu_latency, device);
  apply_peer_links(profile, site.built);
  apply_host_links(profile, site.built);
  bound_nics(profile, site.built, site.fabric);
  apply_memory(profile, site.built.machine);
  if (peers_take_the_host_path(site.built))
    apply_interference(profile, true, site.built.machine);
  else if (peers)
    apply_interference_between_devices(profile, site.built.machine);
  site.group = group_of(site.built);
  site.prices = std::make_shared<Prices>(site.profile, site.fabric, model);
  site.gangs = std::make_shared<GangUseTable>();
  return site;
}

CopyPath Site::path(int mover, int from, int to) const {
  const bool inbound = to == mover;
  if (!runs(inbound ? from : to)) return inbound ? CopyPath::from_host : CopyPath::to_host;
  const auto device = [&](int rank) {
    return built.machine.ranks.at(static_cast<std::size_t>(rank)).device;
  };
  if (device(from) == device(to)) return CopyPath::same_device;
  return inbound ? CopyPath::from_peer : CopyPath::to_peer;
}

sim::RouteId Site::route_of_ctas(int from, int to) const {
  if (!runs(from) && sms_from_host) return *sms_from_host;
  if (!runs(to) && sms_to_host) return *sms_to_host;
  return built.unicast[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

Site make_host_site(const topology::MachineSpec& machine, const Profile& profile,
                    const topology::RankPlace& place, int ranks) {
  WEFT_CHECK(ranks >= 2, "{} ranks have no peer in host memory", ranks);
  Site site = make_site(machine, profile, {place});
  const auto size = static_cast<std::size_t>(ranks);
  topology::Built& built = site.built;
  const sim::RouteId own = built.unicast[0][0], in = built.from_host[0], out = built.to_host[0];
  const topology::RankMemories device = built.memories[0];
  built.unicast.assign(size, std::vector<sim::RouteId>(size, in));
  built.unicast[0].assign(size, out);
  built.unicast[0][0] = own;
  built.memories.assign(size, {device.host, device.host});
  built.memories[0] = device;
  built.node_of_rank.assign(size, place.node);
  site.group = group_of(built);
  site.fabric.gpu_per_direction = std::min(route_rate(built, in), route_rate(built, out));
  site.fabric.gpu_latency = std::max(built.machine.routes.at(in.value()).latency,
                                     built.machine.routes.at(out.value()).latency);
  for (const bool full_link : {true, false}) apply_interference(profile, full_link, built.machine);
  site.sms_from_host = route_of_sms(profile, in, CopyPath::from_host, built);
  site.sms_to_host = route_of_sms(profile, out, CopyPath::to_host, built);
  take_off_latency(site.fabric.gpu_latency, built.machine.devices[0]);
  site.prices = std::make_shared<Prices>(site.profile, site.fabric);
  site.gangs = std::make_shared<GangUseTable>();
  return site;
}

}  // namespace weft::model
