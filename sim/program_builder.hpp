// SPDX-License-Identifier: Apache-2.0
// Writes a Program: kernels role by role and range by range, and the calls of each host thread.
//
//   ProgramBuilder b;
//   const StreamId stream = b.stream(rank);
//   const KernelId gemm = b.kernel("gemm", 132).role(Purpose::compute, TileOrder::static_shares)
//                             .range(896, 60_us).id();
//   b.thread(process).launch(stream, gemm);
//   const Program program = b.finish();
//
// Everything is appended to flat arrays: linear time and memory, and nothing is looked up but
// labels and tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/program.hpp"

namespace weft::sim {

class ProgramBuilder;

/// Leaves nothing in the program but the memory of its arrays.
void empty(Program& program);

/// Describes one kernel; every call adds to what was added last (a role, then its ranges, then a
/// range's traffic, waits and posts, all of one kind together). The next kernel ends it.
class KernelWriter {
 public:
  /// Sets the CTAs that must be resident together in one GPC.
  KernelWriter& cluster(int ctas);
  /// Sets what one CTA holds on its SM.
  KernelWriter& footprint(const Footprint& footprint);
  /// Sets a CTA's time from residency to its first tile.
  KernelWriter& prologue(Duration duration);
  /// Lets a programmatic successor start once `tiles` tiles of the first role are done.
  KernelWriter& trigger_after(std::int64_t tiles);
  /// Adds a role of `ctas` CTAs of the grid; 0 means all of the grid.
  KernelWriter& role(Purpose purpose, TileOrder order, int ctas = 0, std::string_view label = {});
  /// Adds a role that is a warp group of every CTA.
  KernelWriter& warp_group(Purpose purpose, TileOrder order, std::string_view label = {});
  /// Sets the issue share, in thousandths of an SM, that a waiting CTA of the role takes.
  KernelWriter& spin(int issue_milli);
  /// Adds `tiles` equal tiles of `sm_time` each to the role.
  KernelWriter& range(std::int64_t tiles, Duration sm_time, const SmDemand& demand = {});
  /// Sets what the range takes when chunking is off, instead of its tiles' time over the CTAs that
  /// an idle device holds at once.
  KernelWriter& fluid(Duration time);
  /// Sets the L2 bytes of a tile.
  KernelWriter& l2(Bytes bytes_per_tile);
  /// Adds bytes that a tile moves in a memory.
  KernelWriter& memory(MemoryId memory, Bytes bytes_per_tile);
  /// Adds bytes that a tile moves over a route.
  KernelWriter& route(RouteId route, Bytes bytes_per_tile, bool posted_write = false);
  /// Adds a signal that the range waits for.
  KernelWriter& wait(SignalId signal, std::uint64_t at_least, int run_ahead_stages = 0);
  /// Adds a post of the range: once when it is complete, or one a tile (for all of its posts).
  KernelWriter& post(const SignalPost& post, bool per_tile = false);
  /// Returns the kernel.
  [[nodiscard]] KernelId id() const { return id_; }

 private:
  friend class ProgramBuilder;
  KernelWriter(ProgramBuilder& builder, KernelId id) : builder_(&builder), id_(id) {}
  Kernel& kernel();
  Role& last_role();
  TileRange& last_range();

  ProgramBuilder* builder_;
  KernelId id_;
};

/// Describes one gang, member by member; the next gang ends it.
class GangWriter {
 public:
  /// Sets the time before its first byte: steps x hop.
  GangWriter& start_latency(Duration latency);
  /// Sets what the numerators of all uses are over.
  GangWriter& denominator(std::int64_t denominator);
  /// Splits its progress into chunks; `posts` holds the posts of chunk 0, then of chunk 1, ...
  GangWriter& chunks(int chunks, const std::vector<SignalPost>& posts);
  /// Adds a member: the next uses are its own. Its kernel comes from ProgramBuilder::gang_kernel.
  GangWriter& member(RankId rank, const SmDemand& demand_per_cta = {});
  /// Adds `numerator / denominator` bytes on a memory per byte of progress.
  GangWriter& memory(MemoryId memory, std::int64_t numerator);
  /// Adds `numerator / denominator` bytes on a link per byte of progress.
  GangWriter& link(LinkId link, std::int64_t numerator);
  /// Adds `numerator / denominator` bytes through a switch per byte of progress.
  GangWriter& fabric_switch(SwitchId fabric_switch, std::int64_t numerator);
  /// Adds these uses.
  GangWriter& uses(const std::vector<GangUse>& uses);
  /// Adds every share of a route and both of its ends, each times `numerator / denominator`;
  /// the numerator times each share must be a multiple of the route's own denominator.
  GangWriter& route(const Machine& machine, RouteId route, std::int64_t numerator);
  /// Returns the gang.
  [[nodiscard]] GangId id() const { return id_; }

 private:
  friend class ProgramBuilder;
  GangWriter(ProgramBuilder& builder, GangId id) : builder_(&builder), id_(id) {}
  Gang& gang();
  GangWriter& use(GangUse::On on, std::uint32_t index, std::int64_t numerator);

  ProgramBuilder* builder_;
  GangId id_;
};

/// Appends calls to a host thread or to a graph. Cheap to copy; labels and tags stick until changed.
class CallWriter {
 public:
  /// Labels the calls that follow.
  CallWriter& labelled(std::string_view label);
  /// Tags the calls that follow.
  CallWriter& tagged(TagId tag);
  /// Launches a kernel.
  CallWriter& launch(StreamId stream, KernelId kernel);
  /// Launches a kernel that may start at its predecessor's trigger.
  CallWriter& launch_programmatic(StreamId stream, KernelId kernel,
                                  bool waits_for_predecessor = true);
  /// Launches a kernel and records `resident` when all of its CTAs are resident.
  CallWriter& launch_completing(StreamId stream, KernelId kernel, EventId resident);
  /// Copies bytes over a route by transport engine `engine` of the stream's device.
  CallWriter& copy(StreamId stream, std::uint32_t engine, RouteId route, Bytes bytes);
  /// Records an event.
  CallWriter& record(StreamId stream, EventId event);
  /// Makes the stream wait for an event.
  CallWriter& wait(StreamId stream, EventId event);
  /// Makes the stream wait for a signal (stream memory operation).
  CallWriter& wait(StreamId stream, SignalId signal, std::uint64_t at_least);
  /// Makes the stream post a signal (stream memory operation).
  CallWriter& post(StreamId stream, const SignalPost& post);
  /// Sends bytes on a queue pair of the route's NIC and posts at its target.
  CallWriter& message(StreamId stream, RouteId route, int queue_pair, Bytes bytes,
                      const SignalPost& post);
  /// Blocks the host thread until an event is complete (not in a graph).
  CallWriter& host_wait(EventId event);
  /// Keeps the host thread busy (not in a graph).
  CallWriter& host_delay(Duration delay);
  /// Launches a graph for one host cost (not in a graph).
  CallWriter& graph_launch(GraphId graph);
  /// Returns the thread that this writes.
  [[nodiscard]] ThreadId thread_id() const;
  /// Returns the graph that this writes.
  [[nodiscard]] GraphId graph_id() const;

 private:
  friend class ProgramBuilder;
  CallWriter(ProgramBuilder& builder, bool graph, std::uint32_t index)
      : builder_(&builder), graph_(graph), index_(index) {}
  CallWriter& append(Call call);

  ProgramBuilder* builder_;
  bool graph_;
  std::uint32_t index_;
  LabelId label_{0};
  TagId tag_{0};
};

class ProgramBuilder {
 public:
  /// Begins an empty program, in the memory of one that is no longer needed.
  explicit ProgramBuilder(Program spent = {});

  /// Returns the label's id; equal texts share one.
  LabelId label(std::string_view text);
  /// Returns the tag's id; equal tags share one.
  TagId tag(const Tag& tag);
  /// Adds a stream of a rank; a larger priority goes first.
  StreamId stream(RankId rank, int priority = 0, std::string_view label = {});
  /// Adds an event.
  EventId event();
  /// Adds a signal in a memory.
  SignalId signal(MemoryId owner, std::uint64_t initial = 0);
  /// Adds a kernel of `ctas` CTAs; 0 only where a one_cta_per_tile role has one a tile.
  KernelWriter kernel(std::string_view label, int ctas);
  /// Adds a gang that moves `bytes` of progress at up to `cap`.
  GangWriter gang(std::string_view label, Bytes bytes, Bandwidth cap);
  /// Adds the kernel that member `member` of the gang launches.
  KernelWriter gang_kernel(std::string_view label, GangId gang, std::uint32_t member, int ctas);
  /// Adds a host thread of a process.
  CallWriter thread(ProcessId process);
  /// Adds a graph.
  CallWriter graph();
  /// Goes on with a host thread.
  CallWriter calls(ThreadId thread);

  /// Returns what has been written so far.
  [[nodiscard]] const Program& program() const { return program_; }
  /// Returns the program and leaves the builder empty.
  [[nodiscard]] Program finish();

 private:
  friend class KernelWriter;
  friend class GangWriter;
  friend class CallWriter;

  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <class Value>
  using ByText = std::unordered_map<std::string, Value, TextHash, std::equal_to<>>;
  using ByPart = std::unordered_map<std::uint64_t, std::uint32_t>;  // chunk and purpose

  Program program_;
  ByText<std::uint32_t> labels_;
  ByText<ByPart> tags_;  // by boundary
  std::uint32_t last_tag_ = 0;
  std::vector<std::vector<Command>> spent_calls_;  // of host threads: empty, with their memory
};

}  // namespace weft::sim
