// SPDX-License-Identifier: Apache-2.0
// What a schedule runs on: a value that the engine reads and never changes.
//
// A machine is devices (an SM pool, transport engines, HBM, L2), memories, directed links and
// switches, NICs, processes with their host threads' limits, and ranks. Routes are computed by
// whoever builds the machine (topologies/): the engine only charges their shares. Nothing here
// assumes one vendor: an Ascend core pool is an SM pool, its HCCL server a transport engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units/bytes.hpp"
#include "sim/units/ids.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::sim {

using DeviceId = Id<struct DeviceTag>;
using MemoryId = Id<struct MemoryTag>;
using LinkId = Id<struct LinkTag>;
using SwitchId = Id<struct SwitchTag>;
using RouteId = Id<struct RouteTag>;
using NicId = Id<struct NicTag>;
using ProcessId = Id<struct ProcessTag>;
using RankId = Id<struct RankTag>;

/// What one SM can hold at a time, over all CTAs resident on it.
struct SmCapacity {
  int threads = 0;
  int registers = 0;
  Bytes shared_memory{};
  int cta_slots = 0;
  friend bool operator==(const SmCapacity&, const SmCapacity&) = default;
};

/// The compute units of a device. A cluster of CTAs must fit inside one GPC.
struct SmPool {
  std::vector<int> sms_per_gpc{};
  SmCapacity per_sm{};
  friend bool operator==(const SmPool&, const SmPool&) = default;
};

enum class EngineKind : std::uint8_t { copy_engine, sdma, ccu };

/// Which way bytes go as the engine's device sees them; `any` serves all ways.
enum class EngineDirection : std::uint8_t { inbound, outbound, local, any };

/// A mover of bytes that holds no SM: a DMA copy engine, an SDMA queue, a collective unit (CCU).
struct TransportEngine {
  std::string name{};
  EngineKind kind = EngineKind::copy_engine;
  EngineDirection direction = EngineDirection::any;
  Duration
      start_cost{};     ///< from the command's turn to its first byte; the engine is held meanwhile
  int concurrency = 1;  ///< commands in progress at once
  std::optional<Bandwidth> rate{};        ///< of the engine itself, on top of what its route allows
  std::int64_t weight_milli_ctas = 1000;  ///< share weight where its traffic meets that of SMs
  bool reduces = false;
  bool multicasts = false;
  friend bool operator==(const TransportEngine&, const TransportEngine&) = default;
};

/// Interference that is not sharing: while SMs push this kind of traffic, held back by a full link
/// or else below its rate, every SM of the device runs at 1000 / slowdown_milli of its speed,
/// interpolated linearly over the pushing CTAs, and a launch waits for what they have in flight.
struct Interference {
  /// Of SMs; or copies by transport engines, counted in place of CTAs, full link or not.
  enum class Access : std::uint8_t { posted_write, read, engine_copy };
  Access access = Access::posted_write;
  bool full_link = true;  ///< while a link or switch holds the CTAs back; else while none does
  struct Point {
    int ctas = 0;
    std::int64_t slowdown_milli = 1000;
    friend bool operator==(const Point&, const Point&) = default;
  };
  std::string name{};
  std::vector<Point> points{};  ///< ascending in ctas
  Duration launch{};            ///< that a launch on the device takes longer
  /// That a round trip to host memory takes longer: it stands behind what is read from there.
  Duration round_trip{};
  friend bool operator==(const Interference&, const Interference&) = default;
};

struct Device {
  std::string name{};
  SmPool sms{};
  MemoryId memory;  ///< its HBM
  Bandwidth l2{};   ///< zero: not modelled
  std::vector<TransportEngine> engines{};
  std::vector<Interference> interference{};
  std::int64_t speed_permille =
      1000;  ///< of its SMs, where an override slows it (Effects::imbalance)
  friend bool operator==(const Device&, const Device&) = default;
};

/// HBM of a device, or a host NUMA node's memory, which can be a peer.
struct Memory {
  std::string name{};
  std::optional<DeviceId> device{};  ///< none: host memory
  Bandwidth bandwidth{};             ///< reads and writes together
  Bytes size{};
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// What a link leaves or enters.
struct LinkEnd {
  enum class Of : std::uint8_t { memory, fabric_switch, nic } of = Of::memory;
  std::uint32_t index = 0;  ///< of Machine::memories, switches or nics
  friend auto operator<=>(const LinkEnd&, const LinkEnd&) = default;
};

/// A directed link. Its latency is charged once a hop, its capacity is shared.
struct Link {
  std::string name{};
  Bandwidth capacity_per_direction{};
  Duration latency{};
  std::int64_t speed_permille = 1000;  ///< of its capacity, where an override slows it
  /// Where it leads from and to, if the machine says so: what enters a hop can then be held against
  /// what leaves it. No time depends on them.
  std::optional<LinkEnd> from{};
  std::optional<LinkEnd> to{};
  friend bool operator==(const Link&, const Link&) = default;
};

struct Switch {
  std::string name{};
  std::optional<Bandwidth> capacity{};  ///< of the crossbar; none: its ports are the limit
  bool multicasts = false;              ///< one in, n out
  bool reduces = false;                 ///< n in, one out
  friend bool operator==(const Switch&, const Switch&) = default;
};

/// A share of a route's bytes on one link or switch: numerator / Route::denominator of them.
struct RouteShare {
  enum class On : std::uint8_t { link, fabric_switch } on = On::link;
  std::uint32_t index = 0;  ///< of Machine::links or Machine::switches
  std::int64_t numerator = 1;
  friend bool operator==(const RouteShare&, const RouteShare&) = default;
};

/// The set of equal-cost shortest paths between two memories, striped evenly.
///
/// A unicast route has one target. A multicast route leaves one source and reaches every target
/// through a switch that multicasts; a reduce route is its mirror image. Shares already count each
/// port of the tree.
struct Route {
  enum class Kind : std::uint8_t { unicast, multicast, reduce } kind = Kind::unicast;
  std::string name{};
  std::vector<MemoryId> sources{};  ///< one, or n for a reduce route
  std::vector<MemoryId> targets{};  ///< one, or n for a multicast route
  std::vector<RouteShare> shares{};
  std::int64_t denominator = 1;
  Duration latency{};          ///< of the whole path
  std::optional<NicId> nic{};  ///< set where the path leaves its node: messages queue there
  friend bool operator==(const Route&, const Route&) = default;
};

struct Nic {
  std::string name{};
  int queue_pairs = 1;
  Duration message_cost{};  ///< of one work request on a queue pair
  friend bool operator==(const Nic&, const Nic&) = default;
};

/// A host process: its threads pay for the calls they make.
struct Process {
  std::string name{};
  Duration launch_cost{};        ///< host time of one launch, copy, record or wait call
  Duration graph_launch_cost{};  ///< host time of launching a whole graph
  int max_connections = 8;       ///< hardware queues per device (CUDA_DEVICE_MAX_CONNECTIONS)
  friend bool operator==(const Process&, const Process&) = default;
};

/// A rank is a device, a partition of its SMs and a process. Several ranks may share a device.
struct Rank {
  DeviceId device;
  ProcessId process;
  std::vector<int>
      sms_per_gpc{};  ///< the partition, SMs taken from each GPC; empty: all of the device
  friend bool operator==(const Rank&, const Rank&) = default;
};

/// Costs of the device's own control paths, all of which end where a waiter sees them.
struct ControlLatency {
  Duration launch{};        ///< from the head of a hardware queue to the first CTA
  Duration kernel_drain{};  ///< from the last CTA's end to the completion that a successor sees
  Duration event_hop{};     ///< record on one stream to the release of a wait on another
  Duration signal_same_sm{};
  Duration signal_same_device{};
  Duration signal_peer{};  ///< on top of the route's latency
  Duration signal_host{};
  Duration stream_write{};  ///< a stream's write of a signal
  Duration stream_wait{};   ///< from a signal to what follows a stream's wait for it
  /// No less from when the stream comes to it, where the signal is there; none: it takes `stream_wait` from then.
  std::optional<Duration> stream_wait_there{};
  /// How often a stream that did not find its signal looks again.
  Duration stream_poll{};
  Duration
      launch_jitter{};  ///< two ready times closer than this may go either way; at most `launch`
  friend bool operator==(const ControlLatency&, const ControlLatency&) = default;
};

/// In a folded machine (sim/fold.hpp): what a resource of an orbit carries counts on the first of
/// it, `images` times.
struct Orbit {
  std::uint32_t first = 0;
  std::uint32_t images = 1;
  friend bool operator==(const Orbit&, const Orbit&) = default;
};

struct Machine {
  std::string name{};
  std::vector<Device> devices{};
  std::vector<Memory> memories{};
  std::vector<Link> links{};
  std::vector<Switch> switches{};
  std::vector<Nic> nics{};
  std::vector<Process> processes{};
  std::vector<Rank> ranks{};
  std::vector<Route> routes{};
  ControlLatency control{};
  std::vector<Orbit> memory_orbits{};  ///< by memory; empty: not folded
  std::vector<Orbit> link_orbits{};    ///< by link
  std::vector<Orbit> switch_orbits{};  ///< by switch
  friend bool operator==(const Machine&, const Machine&) = default;

  /// The unicast route between two memories; none where there is no path.
  [[nodiscard]] std::optional<RouteId> route(MemoryId from, MemoryId to) const;
  [[nodiscard]] const Device& device(DeviceId id) const { return devices.at(id.value()); }
  [[nodiscard]] const Memory& memory(MemoryId id) const { return memories.at(id.value()); }
  [[nodiscard]] const Rank& rank(RankId id) const { return ranks.at(id.value()); }
};

/// Total SMs of a pool or partition.
[[nodiscard]] int total_sms(const std::vector<int>& sms_per_gpc);

}  // namespace weft::sim
