// SPDX-License-Identifier: Apache-2.0
#include "topologies/build.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/units/check.hpp"
#include "topologies/fabric.hpp"

namespace weft::topology {
namespace {

std::string node_part(std::int64_t node, const std::string& part) {
  return fmt::format("node{}.{}", node, part);
}

// A machine under construction: its parts by name, its fabric, and what was wrong.
class Builder {
 public:
  explicit Builder(const MachineSpec& spec) : spec_(spec) {}

  void add_nodes(const std::set<std::int64_t>& nodes);
  void add_devices(const std::vector<RankPlace>& places);
  void add_links();
  void apply(const std::vector<Override>& overrides, const std::vector<RankPlace>& places);
  std::string device_name(const RankPlace& place) const;
  Built finish(const std::vector<RankPlace>& places);
  [[nodiscard]] std::vector<std::string>& faults() { return faults_; }

 private:
  VertexId add_vertex(VertexKind kind, std::string name, std::size_t index);
  void add_switches(const std::vector<SwitchSpec>& switches, const std::string& prefix);
  void link_group(const LinkSpec& link, const std::string& prefix);
  void add_link(VertexId from, VertexId to, const LinkSpec& link);
  sim::Device device_value() const;
  void add_routes(Built& built) const;
  sim::RouteId own_route(Built& built, std::size_t rank) const;

  const MachineSpec& spec_;
  Fabric fabric_;
  sim::Machine machine_;
  std::map<std::string, VertexId> by_name_;
  std::map<std::string, std::size_t> device_index_;
  std::vector<VertexId> host_vertices_;  // by index of host_memories_
  std::vector<sim::MemoryId> host_memories_;
  std::vector<VertexId> device_vertices_;  // by DeviceId
  std::set<std::int64_t> nodes_;
  std::vector<std::string> faults_;
};

VertexId Builder::add_vertex(VertexKind kind, std::string name, std::size_t index) {
  const VertexId id(static_cast<std::uint32_t>(fabric_.vertices.size()));
  by_name_.emplace(name, id);
  fabric_.vertices.push_back({kind, std::move(name), static_cast<std::uint32_t>(index)});
  return id;
}

void Builder::add_switches(const std::vector<SwitchSpec>& switches, const std::string& prefix) {
  for (const SwitchSpec& spec : switches) {
    for (const std::string& name : expand_pattern(spec.name, spec_.nodes)) {
      add_vertex(VertexKind::fabric_switch, prefix + name, machine_.switches.size());
      machine_.switches.push_back(
          {prefix + name, spec.capacity ? std::optional(spec.capacity->value) : std::nullopt,
           spec.multicasts, spec.reduces});
    }
  }
}

void Builder::add_nodes(const std::set<std::int64_t>& nodes) {
  nodes_ = nodes;
  for (const std::int64_t node : nodes) {
    const std::string prefix = node_part(node, "");
    for (const HostSpec& host : spec_.node.hosts) {
      for (const std::string& name : expand_pattern(host.name, spec_.nodes)) {
        const auto memory = static_cast<std::uint32_t>(machine_.memories.size());
        machine_.memories.push_back(
            {prefix + name, std::nullopt, host.bandwidth.value, host.size.value});
        host_vertices_.push_back(
            add_vertex(VertexKind::host, prefix + name, host_memories_.size()));
        host_memories_.push_back(sim::MemoryId(memory));
      }
    }
    add_switches(spec_.node.switches, prefix);
    for (const NicSpec& nic : spec_.node.nics) {
      for (const std::string& name : expand_pattern(nic.name, spec_.nodes)) {
        add_vertex(VertexKind::nic, prefix + name, machine_.nics.size());
        machine_.nics.push_back(
            {prefix + name, static_cast<int>(nic.queue_pairs), nic.message_cost.value});
      }
    }
  }
  add_switches(spec_.spine.switches, "");
}

sim::Device Builder::device_value() const {
  const DeviceSpec& spec = spec_.device;
  sim::Device device{.name = spec.name,
                     .sms = {},
                     .memory = sim::MemoryId(0),
                     .l2 = {},
                     .engines = {},
                     .interference = {}};
  for (const std::int64_t sms : spec.sms_per_gpc.value) {
    device.sms.sms_per_gpc.push_back(static_cast<int>(sms));
  }
  device.sms.per_sm = {static_cast<int>(spec.threads_per_sm.value),
                       static_cast<int>(spec.registers_per_sm.value),
                       spec.shared_memory_per_sm.value, static_cast<int>(spec.ctas_per_sm.value)};
  if (spec.l2_bandwidth) device.l2 = spec.l2_bandwidth->value;
  for (const EngineSpec& engine : spec.engines) {
    sim::TransportEngine value;
    value.name = engine.name;
    value.kind = engine.kind;
    value.direction = engine.direction;
    value.concurrency = static_cast<int>(engine.concurrency);
    value.reduces = engine.reduces;
    value.multicasts = engine.multicasts;
    device.engines.push_back(std::move(value));
  }
  return device;
}

void Builder::add_devices(const std::vector<RankPlace>& places) {
  const std::vector<std::string> names = expand_pattern(spec_.node.devices, spec_.nodes);
  std::set<std::pair<std::int64_t, std::int64_t>> used;
  for (const RankPlace& place : places) used.emplace(place.node, place.device);
  for (const auto& [node, device] : used) {
    const std::string name = node_part(node, names.at(static_cast<std::size_t>(device)));
    sim::Device value = device_value();
    value.name = name;
    value.memory = sim::MemoryId(static_cast<std::uint32_t>(machine_.memories.size()));
    const sim::DeviceId id(static_cast<std::uint32_t>(machine_.devices.size()));
    machine_.memories.push_back(
        {name + ".hbm", id, spec_.device.memory_bandwidth.value, spec_.device.memory_size.value});
    device_index_[name] = machine_.devices.size();
    device_vertices_.push_back(add_vertex(VertexKind::device, name, machine_.devices.size()));
    machine_.devices.push_back(std::move(value));
  }
}

void Builder::add_link(VertexId from, VertexId to, const LinkSpec& link) {
  const std::string name =
      fabric_.vertices[from.value()].name + "->" + fabric_.vertices[to.value()].name;
  sim::Link value{name, link.bandwidth_per_direction.value, link.latency.value};
  value.from = link_end(fabric_.vertices[from.value()], machine_, host_memories_);
  value.to = link_end(fabric_.vertices[to.value()], machine_, host_memories_);
  machine_.links.push_back(value);
  fabric_.links.push_back({from, to, value});
}

// Parts that this program does not use (devices without a rank, other nodes) have no vertex: their links are
// left out. A name that the description itself does not know is a fault of the file, reported when it is read.
void Builder::link_group(const LinkSpec& link, const std::string& prefix) {
  for (const auto& [from, to] : expand_pairs(link, spec_.nodes)) {
    const auto tail = by_name_.find(prefix + from);
    const auto head = by_name_.find(prefix + to);
    if (tail == by_name_.end() || head == by_name_.end()) continue;
    add_link(tail->second, head->second, link);
    if (link.duplex) add_link(head->second, tail->second, link);
  }
}

void Builder::add_links() {
  for (const std::int64_t node : nodes_) {
    for (const LinkSpec& link : spec_.node.links) link_group(link, node_part(node, ""));
  }
  for (const LinkSpec& link : spec_.spine.links) link_group(link, "");
}

void Builder::apply(const std::vector<Override>& overrides, const std::vector<RankPlace>& places) {
  for (Override change : overrides) {
    bool found = false;
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      if (change.part == fmt::format("rank{}", rank)) change.part = device_name(places[rank]);
    }
    for (sim::Link& link : machine_.links) {
      if (link.name != change.part) continue;
      link.speed_permille = change.speed_permille;
      found = true;
    }
    for (sim::Device& device : machine_.devices) {
      if (device.name != change.part) continue;
      device.speed_permille = change.speed_permille;
      found = true;
    }
    if (!found) {
      faults_.push_back(
          fmt::format("no link or device of these ranks is called \"{}\" (a rank is \"rank0\", a "
                      "device \"node0.gpu0\", a link "
                      "\"node0.gpu0->node0.nvswitch\")",
                      change.part));
    }
  }
}

// What stays inside one memory: a copy reads and writes it and crosses no link.
sim::RouteId Builder::own_route(Built& built, std::size_t rank) const {
  const sim::MemoryId memory = built.memories[rank].device;
  for (std::uint32_t i = 0; i < built.machine.routes.size(); ++i) {
    const sim::Route& route = built.machine.routes[i];
    if (route.shares.empty() && route.sources.front() == memory) return sim::RouteId(i);
  }
  sim::Route route;
  route.name = built.device_names[rank] + "->" + built.device_names[rank];
  route.sources = {memory};
  route.targets = {memory};
  built.machine.routes.push_back(std::move(route));
  return sim::RouteId(static_cast<std::uint32_t>(built.machine.routes.size() - 1));
}

std::string Builder::device_name(const RankPlace& place) const {
  const std::vector<std::string> names = expand_pattern(spec_.node.devices, spec_.nodes);
  return node_part(place.node, names.at(static_cast<std::size_t>(place.device)));
}

Built Builder::finish(const std::vector<RankPlace>& places) {
  Built built;
  built.machine = std::move(machine_);
  built.machine.name = spec_.name;
  for (const RankPlace& place : places) {
    const std::string name = device_name(place);
    const std::size_t device = device_index_.at(name);
    sim::Rank rank{sim::DeviceId(static_cast<std::uint32_t>(device)),
                   sim::ProcessId(static_cast<std::uint32_t>(built.machine.processes.size())),
                   {}};
    if (place.shares > 1) {
      rank.sms_per_gpc =
          sms_of_share(built.machine.devices[device].sms.sms_per_gpc, place.share, place.shares);
    }
    built.machine.processes.push_back({.name = fmt::format("rank{}", built.machine.ranks.size()),
                                       .launch_cost = {},
                                       .graph_launch_cost = {}});
    built.machine.ranks.push_back(std::move(rank));
    built.device_names.push_back(name);
    built.node_of_rank.push_back(place.node);

    // The nearest host memory, by the cost of the path to it; the first of equals.
    const sim::MemoryId own = built.machine.devices[device].memory;
    std::optional<std::size_t> nearest;
    std::optional<ShortestPaths> best;
    for (std::size_t h = 0; h < host_vertices_.size(); ++h) {
      auto paths = shortest_paths(fabric_, device_vertices_[device], host_vertices_[h]);
      if (paths && (!best || paths->latency < best->latency)) {
        best = std::move(paths);
        nearest = h;
      }
    }
    if (!nearest) {
      faults_.push_back(fmt::format("{} reaches no host memory", name));
      continue;
    }
    built.memories.push_back({own, host_memories_[*nearest]});
  }
  if (faults_.empty()) add_routes(built);
  return built;
}

void Builder::add_routes(Built& built) const {
  const std::size_t ranks = built.machine.ranks.size();
  const auto vertex_of = [&](std::size_t rank) {
    return device_vertices_[built.machine.ranks[rank].device.value()];
  };
  const auto add = [&](sim::Route route) {
    built.machine.routes.push_back(std::move(route));
    return sim::RouteId(static_cast<std::uint32_t>(built.machine.routes.size() - 1));
  };
  // Ranks of one device share its routes.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::RouteId> known;
  std::vector<std::string> missing;
  for (std::size_t from = 0; from < ranks; ++from) {
    auto& row = built.unicast.emplace_back();
    for (std::size_t to = 0; to < ranks; ++to) {
      if (vertex_of(from) == vertex_of(to)) {
        row.push_back(own_route(built, from));
        continue;
      }
      const std::pair key(vertex_of(from).value(), vertex_of(to).value());
      auto found = known.find(key);
      if (found == known.end()) {
        auto route = unicast_route(fabric_, vertex_of(from), vertex_of(to),
                                   built.memories[from].device, built.memories[to].device);
        if (!route) {
          missing.push_back(fmt::format("there is no route from {} to {}", built.device_names[from],
                                        built.device_names[to]));
          row.push_back(sim::RouteId(0));
          continue;
        }
        found = known.emplace(key, add(std::move(*route))).first;
      }
      row.push_back(found->second);
    }
  }
  if (!missing.empty()) throw BuildError(std::move(missing));

  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto host =
        std::find(host_memories_.begin(), host_memories_.end(), built.memories[rank].host) -
        host_memories_.begin();
    const VertexId host_vertex = host_vertices_[static_cast<std::size_t>(host)];
    built.from_host.push_back(
        add(*unicast_route(fabric_, host_vertex, vertex_of(rank), built.memories[rank].host,
                           built.memories[rank].device)));
    built.to_host.push_back(
        add(*unicast_route(fabric_, vertex_of(rank), host_vertex, built.memories[rank].device,
                           built.memories[rank].host)));
  }

  // In-network trees join the ranks of distinct devices; one rank alone needs none.
  std::set<std::uint32_t> distinct;
  for (std::size_t rank = 0; rank < ranks; ++rank) distinct.insert(vertex_of(rank).value());
  if (distinct.size() != ranks || ranks < 2) return;
  for (const TreeKind kind : {TreeKind::multicast, TreeKind::reduce}) {
    auto& routes = kind == TreeKind::multicast ? built.multicast : built.reduce;
    for (std::size_t root = 0; root < ranks; ++root) {
      std::vector<VertexId> leaves;
      std::vector<sim::MemoryId> memories;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        leaves.push_back(vertex_of(rank));
        memories.push_back(built.memories[rank].device);
      }
      auto route = tree_route(fabric_, built.machine.switches, kind, vertex_of(root), leaves);
      if (!route) {
        routes.clear();
        break;
      }
      const std::vector<sim::MemoryId> one = {built.memories[root].device};
      route->sources = kind == TreeKind::multicast ? one : memories;
      route->targets = kind == TreeKind::multicast ? memories : one;
      routes.push_back(add(std::move(*route)));
    }
  }
}

}  // namespace

BuildError::BuildError(std::vector<std::string> faults)
    : std::runtime_error(fmt::format("{}", fmt::join(faults, "\n"))), faults_(std::move(faults)) {}

std::vector<RankPlace> packed_places(const MachineSpec& spec, std::int64_t ranks) {
  const std::int64_t per_node = devices_per_node(spec);
  std::vector<RankPlace> places;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    places.push_back({rank / per_node, rank % per_node});
  }
  return places;
}

std::vector<RankPlace> scattered_places(const MachineSpec& spec, std::int64_t ranks,
                                        std::int64_t nodes) {
  const std::int64_t per_node = devices_per_node(spec);
  if (nodes == 0) nodes = std::max<std::int64_t>(1, (ranks + per_node - 1) / per_node);
  std::vector<RankPlace> places;
  for (std::int64_t rank = 0; rank < ranks; ++rank) places.push_back({rank % nodes, rank / nodes});
  return places;
}

Built build(const MachineSpec& spec, const std::vector<RankPlace>& places,
            const std::vector<Override>& overrides) {
  Builder builder(spec);
  const std::int64_t per_node = devices_per_node(spec);
  std::set<std::int64_t> nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const RankPlace& place = places[rank];
    if (place.node < 0 || place.node >= spec.nodes || place.device < 0 ||
        place.device >= per_node) {
      builder.faults().push_back(fmt::format(
          "rank {} is placed on device {} of node {}, but {} has {} node(s) of {} device(s)", rank,
          place.device, place.node, spec.name, spec.nodes, per_node));
    }
    nodes.insert(place.node);
  }
  if (places.empty()) builder.faults().push_back("a machine needs at least one rank");
  if (!builder.faults().empty()) throw BuildError(std::move(builder.faults()));
  builder.add_nodes(nodes);
  builder.add_devices(places);
  builder.add_links();
  builder.apply(overrides, places);
  Built built = builder.finish(places);
  if (!builder.faults().empty()) throw BuildError(std::move(builder.faults()));
  return built;
}

}  // namespace weft::topology
