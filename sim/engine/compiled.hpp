// SPDX-License-Identifier: Apache-2.0
// A program made ready to run: one flat record a command, issue times in advance where the host
// never blocks, events bound to the records that they mean, resource uses with their integers.
//
// The host: a call costs its process' launch_cost, a graph its graph_launch_cost. Between two
// host_waits a thread's issue times are sums, so a command's issue is (segment, offset) and only a
// host_wait is an event of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sim/queue/event_key.hpp"
#include "sim/record.hpp"
#include "sim/run.hpp"
#include "sim/solver/demand.hpp"

namespace weft::sim::engine {

inline constexpr std::uint32_t kNone = UINT32_MAX;

enum class Op : std::uint8_t { launch, copy, record, wait_event, wait_signal, post, message };

struct CompiledCommand {
  std::int64_t issue = 0;   ///< ps after its segment begins
  std::int64_t amount = 0;  ///< bytes of a copy or message; a wait's least value
  std::uint32_t segment = 0;
  std::uint32_t stream = 0;
  /// launch: kernel; copy, message: flow shape; record, wait_event: record; wait_signal: view;
  /// post: of Compiled::posts.
  std::uint32_t target = 0;
  std::uint32_t extra = kNone;  ///< launch: record of its completion; message: its post
  CommandRef ref;
  Op op = Op::launch;
  bool programmatic = false;
  bool waits_for_predecessor = false;
};

/// A stretch of a host thread's calls between two host_waits.
struct Segment {
  std::uint32_t thread = 0;
  std::uint32_t waits_for = kNone;  ///< the record that its beginning waits for
  std::int64_t offset = 0;          ///< of the host_wait, in the segment before
  std::uint32_t next = kNone;
  CommandRef host_wait;
};

/// A call that only the host sees: [begin, end) in its segment.
struct HostCall {
  std::uint32_t segment = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  CommandRef ref;
};

struct CompiledStream {
  std::uint32_t rank = 0;
  std::uint32_t device = 0;
  std::uint32_t queue = 0;
  int priority = 0;
  std::uint64_t key_part = 0;  ///< EventKey::stream_part
};

/// The calls of one host thread on one hardware queue, in issue order: of Compiled::queue_order.
struct QueueLane {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// A hardware queue: its lanes (one a host thread that feeds it).
struct HardwareQueue {
  std::uint32_t first_lane = 0;
  std::uint32_t lanes = 0;
};

/// A list of uses of shared resources, and the cap that comes from resources not shared in this
/// run.
struct UseList {
  std::uint32_t first = 0;  ///< of Compiled::uses
  std::uint32_t count = 0;
  std::uint64_t denominator = 1;
  std::uint64_t counts_as = 1;  ///< bytes of a tile where it shares
  std::optional<ProgressRate> cap;
};

/// What copies by one engine (or messages of one queue pair) over one route ask for.
struct FlowShape {
  UseList uses;
  std::uint32_t server = 0;
  std::uint32_t route = 0;
  std::int64_t setup = 0;  ///< ps that the server is held before the first byte
  std::int64_t weight = 1000;
  std::int64_t latency = 0;  ///< ps from the last byte's departure to its arrival
  bool reads_host = false;   ///< its bytes come from host memory
};

struct CompiledPost {
  SignalPost::Kind kind = SignalPost::Kind::add;
  std::uint32_t signal = 0;
  std::uint64_t value = 0;
  std::uint32_t from = kNone;  ///< device, where not the poster's
};

/// A signal as one device sees it.
struct SignalView {
  std::uint32_t signal = 0;
  std::uint32_t device = 0;
  std::uint32_t next = kNone;  ///< of the same signal
};

/// A hardware-independent copy of what the engine adds up in the solver.
struct SharedResource {
  enum class Kind : std::uint8_t { memory, l2, link, fabric_switch } kind = Kind::memory;
  std::uint32_t index = 0;
  std::uint64_t capacity = 0;  ///< 0: not modelled
  bool shared = true;          ///< false: each activity has it to itself
};

struct Compiled {
  std::vector<CompiledCommand> commands;
  std::vector<std::uint32_t> thread_first;  ///< of commands
  std::vector<Segment> segments;
  std::vector<std::uint32_t> thread_segment;  ///< its first segment
  std::vector<HostCall> host_calls;           ///< ascending in segment
  std::vector<std::uint32_t> queue_order;
  std::vector<QueueLane> lanes;
  std::vector<HardwareQueue> queues;
  std::vector<CompiledStream> streams;
  std::uint32_t records = 0;

  std::vector<SharedResource> resources;
  std::vector<ResourceUse> uses;
  std::vector<FlowShape> shapes;
  std::vector<int> server_concurrency;

  std::vector<CompiledPost> posts;  ///< of commands
  std::vector<SignalView> views;
  std::vector<std::uint32_t> signal_view;   ///< its first view
  std::vector<std::uint8_t> signal_in_cta;  ///< posters and waiters are warp groups of one kernel
  std::vector<std::int64_t> leg;            ///< ps, [device][memory], both ways alike

  std::vector<std::uint32_t> range_uses;  ///< of use_lists, by range; empty: no traffic anywhere
  std::vector<UseList> use_lists;
  std::vector<UseList> gang_uses;         ///< by gang
  std::vector<std::int64_t> range_begin;  ///< its first tile's number in its role
  std::vector<std::int64_t> role_tiles;

  std::uint32_t memories = 0;

  /// Forgets everything but the memory that it takes.
  void clear();
  [[nodiscard]] std::uint32_t l2_resource(std::uint32_t device) const { return memories + device; }
};

/// Checks and compiles into `compiled`, which is clear; throws CheckFailure at the first reference
/// to what is not there.
void compile(const Machine& machine, const Program& program, const Effects& effects,
             Compiled& compiled);

}  // namespace weft::sim::engine
