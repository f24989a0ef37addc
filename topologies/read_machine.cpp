// SPDX-License-Identifier: Apache-2.0
#include "topologies/read_machine.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "configs/reader/strict_object.hpp"
#include "sim/units/nearest.hpp"
#include "topologies/import/topo_matrix.hpp"

namespace weft::config {

template <>
struct EnumNames<sim::EngineKind> {
  static constexpr std::pair<std::string_view, sim::EngineKind> names[] = {
      {"copy_engine", sim::EngineKind::copy_engine},
      {"sdma", sim::EngineKind::sdma},
      {"ccu", sim::EngineKind::ccu}};
};

template <>
struct EnumNames<sim::EngineDirection> {
  static constexpr std::pair<std::string_view, sim::EngineDirection> names[] = {
      {"inbound", sim::EngineDirection::inbound},
      {"outbound", sim::EngineDirection::outbound},
      {"local", sim::EngineDirection::local},
      {"any", sim::EngineDirection::any}};
};

template <>
struct EnumNames<topology::LinkSpec::Pairing> {
  static constexpr std::pair<std::string_view, topology::LinkSpec::Pairing> names[] = {
      {"all", topology::LinkSpec::Pairing::all},
      {"zip", topology::LinkSpec::Pairing::zip},
      {"blocks", topology::LinkSpec::Pairing::blocks}};
};

}  // namespace weft::config

namespace weft::topology {
namespace {

using config::above;
using config::at_least;
using config::between;
using config::StrictObject;

// Larger machines than any that is built: a slip of the keyboard, not a cluster.
constexpr std::int64_t most_nodes = 4096;
constexpr std::int64_t most_sms_per_gpc = 1024;

// ---- device ------------------------------------------------------------------------------------------------

EngineSpec read_engine(StrictObject& object) {
  EngineSpec engine;
  engine.name = object.required<std::string>({"name", "how views call it"});
  engine.kind = object.required<sim::EngineKind>({"kind", "what it is"});
  engine.direction = object.required<sim::EngineDirection>(
      {"direction", "which way bytes go as the device sees them"});
  engine.concurrency = object.defaulted<std::int64_t>(
      {"concurrency", "commands in progress at once"}, 1, between<std::int64_t>(1, 1024));
  engine.reduces = object.defaulted<bool>({"reduces", "whether it can add to its target"}, false);
  engine.multicasts =
      object.defaulted<bool>({"multicasts", "whether it can write several targets at once"}, false);
  return engine;
}

DeviceSpec device_fields(StrictObject& object) {
  DeviceSpec device;
  object.schema("weft.device/1", "one kind of accelerator");
  device.name = object.required<std::string>({"name", "its name in reports"});
  device.vendor = object.required<std::string>({"vendor", "who makes it"});
  device.architecture = object.required<std::string>(
      {"architecture", "instruction set, as schedules ask for it: sm_90"});
  device.sms_per_gpc = object.required<Sourced<std::vector<std::int64_t>>>(
      {"sms_per_gpc", "SMs of each GPC; a cluster of CTAs must fit inside one"},
      between<std::int64_t>(1, most_sms_per_gpc));
  object.required_object({"per_sm", "what one SM can hold"}, [&](StrictObject& sm) {
    device.threads_per_sm =
        sm.required<Sourced<std::int64_t>>({"threads", "threads"}, at_least<std::int64_t>(1));
    device.registers_per_sm = sm.required<Sourced<std::int64_t>>({"registers", "32-bit registers"},
                                                                 at_least<std::int64_t>(1));
    device.shared_memory_per_sm =
        sm.required<Sourced<Bytes>>({"shared_memory", "shared memory"}, above(Bytes{}));
    device.ctas_per_sm = sm.required<Sourced<std::int64_t>>({"cta_slots", "resident CTAs"},
                                                            at_least<std::int64_t>(1));
    return 0;
  });
  object.required_object({"memory", "its own memory"}, [&](StrictObject& memory) {
    device.memory_size = memory.required<Sourced<Bytes>>({"size", "capacity"}, above(Bytes{}));
    device.memory_bandwidth = memory.required<Sourced<Bandwidth>>(
        {"bandwidth", "reads and writes together"}, above(Bandwidth{}));
    return 0;
  });
  device.l2_bandwidth = object.optional<Sourced<Bandwidth>>(
      {"l2_bandwidth", "of reads that hit the L2; absent: not modelled"}, above(Bandwidth{}));
  device.engines = object.optional_list({"engines", "what moves bytes without SMs"}, read_engine);
  return device;
}

// ---- machine -----------------------------------------------------------------------------------------------

// Keeps what a pattern names with the place it was named at, to check names once all parts are known.
struct NamedLinks {
  LinkSpec link;
  config::Origin origin;
};

std::string read_pattern(StrictObject& object, config::Field field) {
  std::string pattern = object.required<std::string>(field);
  if (object.describing() || pattern.empty()) return pattern;
  try {
    static_cast<void>(expand_pattern(pattern, 1));
  } catch (const std::invalid_argument& fault) {
    object.error(field.name, fault.what(), "gpu[0-7] or nic[0,2,4]");
  }
  return pattern;
}

HostSpec read_host(StrictObject& object) {
  HostSpec host;
  host.name = read_pattern(object, {"name", "its name, or a range of names"});
  host.size =
      object.required<Sourced<Bytes>>({"size", "of one NUMA node's memory"}, above(Bytes{}));
  host.bandwidth = object.required<Sourced<Bandwidth>>({"bandwidth", "of one NUMA node's memory"},
                                                       above(Bandwidth{}));
  return host;
}

SwitchSpec read_switch(StrictObject& object) {
  SwitchSpec value;
  value.name = read_pattern(object, {"name", "its name, or a range of names"});
  value.capacity = object.optional<Sourced<Bandwidth>>(
      {"capacity", "of the crossbar; absent: its ports are the limit"}, above(Bandwidth{}));
  value.multicasts = object.defaulted<bool>({"multicasts", "one port in, many out"}, false);
  value.reduces = object.defaulted<bool>({"reduces", "many ports in, one out"}, false);
  return value;
}

NicSpec read_nic(StrictObject& object) {
  NicSpec nic;
  nic.name = read_pattern(object, {"name", "its name, or a range of names"});
  const auto pairs = object.required<Sourced<std::int64_t>>(
      {"queue_pairs", "queues that messages are spread over"}, between<std::int64_t>(1, 1 << 16));
  nic.queue_pairs = pairs.value;
  nic.message_cost = object.required<Sourced<Duration>>(
      {"message_cost", "of one work request on a queue pair"}, at_least(Duration{}));
  return nic;
}

NamedLinks read_link(StrictObject& object) {
  NamedLinks named;
  LinkSpec& link = named.link;
  link.from = read_pattern(object, {"from", "parts at one end"});
  link.to = read_pattern(object, {"to", "parts at the other end"});
  link.pairing = object.defaulted<LinkSpec::Pairing>(
      {"pairing",
       "all with all, one to one (zip), or equal runs of the first to each of the second (blocks)"},
      LinkSpec::Pairing::all);
  link.duplex = object.defaulted<bool>({"duplex", "whether there is a link back"}, true);
  link.bandwidth_per_direction = object.required<Sourced<Bandwidth>>(
      {"bandwidth_per_direction", "of one link, one way"}, above(Bandwidth{}));
  link.latency =
      object.required<Sourced<Duration>>({"latency", "of one hop"}, at_least(Duration{}));
  if (!object.describing()) named.origin = object.origin();
  return named;
}

// The fields of a machine file but for its device, which is another file.
struct MachineFields {
  MachineSpec spec;
  std::filesystem::path device;
  std::vector<NamedLinks> node_links, spine_links;
};

MachineFields machine_fields(StrictObject& object, const config::SearchPath& search) {
  MachineFields fields;
  MachineSpec& spec = fields.spec;
  object.schema("weft.machine/1", "a machine: a node of parts and links, repeated, and a spine");
  spec.name = object.required<std::string>({"name", "its name in reports"});
  spec.profile =
      object.required<std::string>({"profile", "name of the profile that calibrates it"});
  fields.device =
      config::required_file(object, {"device", "file of its accelerator (weft.device/1)"}, search);
  spec.nodes = object.defaulted<std::int64_t>({"nodes", "how many equal nodes it has"}, 1,
                                              between<std::int64_t>(1, most_nodes));
  object.required_object({"node", "parts and links of one node"}, [&](StrictObject& node) {
    spec.node.devices = read_pattern(node, {"devices", "names of its accelerators: gpu[0-7]"});
    spec.node.hosts = node.required_list({"hosts", "host memories, one a NUMA node"}, read_host,
                                         at_least<std::size_t>(1));
    spec.node.switches =
        node.optional_list({"switches", "NVSwitches, PCIe switches, root complexes"}, read_switch);
    spec.node.nics = node.optional_list({"nics", "network interfaces"}, read_nic);
    fields.node_links = node.required_list({"links", "links between the parts"}, read_link,
                                           at_least<std::size_t>(1));
    return 0;
  });
  object.optional_object({"spine", "what joins the nodes"}, [&](StrictObject& spine) {
    spec.spine.switches = spine.optional_list({"switches", "leaf and spine switches"}, read_switch);
    fields.spine_links = spine.required_list(
        {"links", "links between switches and node parts, which are named node[*].nic[0-7]"},
        read_link);
    return 0;
  });
  return fields;
}

// Every name must be a part of the machine, and the groups of a link must fit each other.
void check_links(StrictObject& object, const std::vector<NamedLinks>& links,
                 const std::set<std::string>& parts, std::int64_t nodes) {
  std::vector<std::string_view> names(parts.begin(), parts.end());
  for (const NamedLinks& named : links) {
    try {
      std::set<std::string> unknown;
      for (const auto& [from, to] : expand_pairs(named.link, nodes)) {
        for (const std::string& name : {from, to}) {
          if (!parts.contains(name)) unknown.insert(name);
        }
      }
      if (unknown.empty()) continue;
      const auto nearest = nearest_name(*unknown.begin(), names);
      object.error(named.origin, fmt::format("the machine has no part \"{}\"", *unknown.begin()),
                   nearest ? fmt::format("did you mean \"{}\"?", *nearest) : std::string());
    } catch (const std::invalid_argument& fault) {
      object.error(named.origin, fault.what());
    }
  }
}

void check_parts(StrictObject& object, const MachineFields& fields) {
  const MachineSpec& spec = fields.spec;
  std::set<std::string> node_parts, spine_parts;
  const auto add = [&](std::set<std::string>& parts, const std::string& pattern) {
    for (const std::string& name : expand_pattern(pattern, spec.nodes)) {
      if (!parts.insert(name).second) {
        object.error(fmt::format("two parts are called \"{}\"", name));
      }
    }
  };
  add(node_parts, spec.node.devices);
  for (const HostSpec& host : spec.node.hosts) add(node_parts, host.name);
  for (const SwitchSpec& value : spec.node.switches) add(node_parts, value.name);
  for (const NicSpec& nic : spec.node.nics) add(node_parts, nic.name);
  for (const SwitchSpec& value : spec.spine.switches) add(spine_parts, value.name);
  check_links(object, fields.node_links, node_parts, spec.nodes);
  for (const std::string& part : node_parts) {
    for (std::int64_t node = 0; node < spec.nodes; ++node) {
      spine_parts.insert(fmt::format("node{}.{}", node, part));
    }
  }
  check_links(object, fields.spine_links, spine_parts, spec.nodes);
}

// A topology dump named as a machine lacks most of a machine's numbers: what to do about it is said
// instead of what is wrong with its JSON.
void refuse_dump(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string head(4096, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || head[first] == '{') return;
  if (head[first] != '<' && !looks_like_topo_matrix(head)) return;
  throw config::ConfigErrors({.file = file.string(),
                              .line = 0,
                              .column = 0,
                              .json_pointer = {},
                              .message = "a topology dump is no machine yet: it has no latencies, "
                                         "and says little of its devices and memories",
                              .hint = fmt::format("weft import {} --complete-from MACHINE -o "
                                                  "machine.json",
                                                  file.filename().string())});
}

std::vector<LinkSpec> links_of(const std::vector<NamedLinks>& named) {
  std::vector<LinkSpec> links;
  for (const NamedLinks& each : named) links.push_back(each.link);
  return links;
}

}  // namespace

MachineFile read_machine(const std::filesystem::path& file, const config::SearchPath& search) {
  refuse_dump(file);
  return read_machine(config::Document::load(file), search);
}

MachineFile read_machine(const config::Document& document, const config::SearchPath& search) {
  StrictObject object(document);
  MachineFields fields = machine_fields(object, search);
  std::vector<config::ConfigError> errors;
  MachineFile result;

  if (!fields.device.empty()) {
    try {
      const config::Document device_document = config::Document::load(fields.device);
      StrictObject device_object(device_document);
      fields.spec.device = device_fields(device_object);
      device_object.finish();
      result.sources = device_object.sources();
    } catch (const config::ConfigErrors& device_errors) {
      errors = device_errors.errors();
    }
  }
  if (object.good()) check_parts(object, fields);
  try {
    object.finish();
  } catch (const config::ConfigErrors& own) {
    errors.insert(errors.end(), own.errors().begin(), own.errors().end());
  }
  if (!errors.empty()) throw config::ConfigErrors(std::move(errors));

  fields.spec.node.links = links_of(fields.node_links);
  fields.spec.spine.links = links_of(fields.spine_links);
  fields.spec.file = document.name();
  result.spec = std::move(fields.spec);
  result.sources.insert(result.sources.begin(), object.sources().begin(), object.sources().end());
  return result;
}

config::TypeDescription describe_machine() {
  return config::describe(
      [](StrictObject& object) { return machine_fields(object, {}).spec.nodes; });
}

config::TypeDescription describe_device() {
  return config::describe([](StrictObject& object) { return device_fields(object).name; });
}

}  // namespace weft::topology
