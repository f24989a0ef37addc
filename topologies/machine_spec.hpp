// SPDX-License-Identifier: Apache-2.0
// A machine as its file describes it (schema weft.machine/1): a node of named parts and links, repeated, and a
// spine between the nodes. Every number carries its source. docs/machines.md documents the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "configs/reader/sourced.hpp"
#include "sim/machine.hpp"

namespace weft::topology {

template <class T>
using Sourced = config::Sourced<T>;

/// A DMA engine of a device. What a command on it costs comes from a profile.
struct EngineSpec {
  std::string name;
  sim::EngineKind kind = sim::EngineKind::copy_engine;
  sim::EngineDirection direction = sim::EngineDirection::any;
  std::int64_t concurrency = 1;
  bool reduces = false;
  bool multicasts = false;
  friend bool operator==(const EngineSpec&, const EngineSpec&) = default;
};

/// One kind of accelerator (schema weft.device/1).
struct DeviceSpec {
  std::string name;
  std::string vendor;
  std::string architecture;  ///< "sm_90", "davinci", ...
  Sourced<std::vector<std::int64_t>> sms_per_gpc;
  Sourced<std::int64_t> threads_per_sm;
  Sourced<std::int64_t> registers_per_sm;
  Sourced<Bytes> shared_memory_per_sm;
  Sourced<std::int64_t> ctas_per_sm;
  Sourced<Bytes> memory_size;
  Sourced<Bandwidth> memory_bandwidth;
  std::optional<Sourced<Bandwidth>> l2_bandwidth;
  std::vector<EngineSpec> engines;
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// Host memory of one NUMA node; `name` may hold a range.
struct HostSpec {
  std::string name;
  Sourced<Bytes> size;
  Sourced<Bandwidth> bandwidth;
  friend bool operator==(const HostSpec&, const HostSpec&) = default;
};

/// Switches with one description; `name` may hold a range: "rail[0-7]".
struct SwitchSpec {
  std::string name;
  std::optional<Sourced<Bandwidth>> capacity;
  bool multicasts = false;
  bool reduces = false;
  friend bool operator==(const SwitchSpec&, const SwitchSpec&) = default;
};

struct NicSpec {
  std::string name;
  std::int64_t queue_pairs = 1;
  Sourced<Duration> message_cost;
  friend bool operator==(const NicSpec&, const NicSpec&) = default;
};

/// Links between two groups of parts, named by ranges. `all`: each with all of the other group (with itself: each
/// pair once). `zip`: one to one, the second group over again where it is shorter. `blocks`: the first group in
/// equal runs, one run to each of the second.
struct LinkSpec {
  enum class Pairing : std::uint8_t { all, zip, blocks } pairing = Pairing::all;
  std::string from;
  std::string to;
  bool duplex = true;  ///< also a link back, with a capacity of its own
  Sourced<Bandwidth> bandwidth_per_direction;
  Sourced<Duration> latency;
  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

struct NodeSpec {
  std::string devices;  ///< their names: "gpu[0-7]"
  std::vector<HostSpec> hosts;
  std::vector<SwitchSpec> switches;
  std::vector<NicSpec> nics;
  std::vector<LinkSpec> links;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// What joins the nodes. Its links name node parts as "node[*].nic[0-7]".
struct SpineSpec {
  std::vector<SwitchSpec> switches;
  std::vector<LinkSpec> links;
  friend bool operator==(const SpineSpec&, const SpineSpec&) = default;
};

struct MachineSpec {
  std::string name;
  std::string profile;  ///< name of the profile that calibrates it
  std::string file;     ///< where it was read from; empty if it was not
  DeviceSpec device;
  std::int64_t nodes = 1;
  NodeSpec node;
  SpineSpec spine;
  friend bool operator==(const MachineSpec&, const MachineSpec&) = default;
};

/// Names that a pattern stands for: "gpu[0-2,5]" is gpu0 gpu1 gpu2 gpu5; without brackets it is one name.
/// "[*]" in "node[*]" stands for every node. Throws std::invalid_argument with what is wrong.
[[nodiscard]] std::vector<std::string> expand_pattern(const std::string& pattern,
                                                      std::int64_t nodes);

/// The pairs of names that a link group joins. Throws std::invalid_argument where the groups do not fit.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> expand_pairs(const LinkSpec& link,
                                                                            std::int64_t nodes);

/// Devices of one node.
[[nodiscard]] std::int64_t devices_per_node(const MachineSpec& spec);
/// Devices of the whole machine.
[[nodiscard]] std::int64_t total_devices(const MachineSpec& spec);

}  // namespace weft::topology
