// SPDX-License-Identifier: Apache-2.0
// What runs: host threads that issue CUDA-like calls on streams, and the kernels that those calls
// launch.
//
// A program is a flat value: kernels own slices of shared arrays, so that ten million commands stay
// cheap to build, copy and walk. Use ProgramBuilder (sim/program_builder.hpp) to write one. The
// engine decides when everything happens; a program never contains a start time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/machine.hpp"

namespace weft::sim {

using StreamId = Id<struct StreamTag>;
using EventId = Id<struct EventTag>;
using SignalId = Id<struct SignalTag>;
using KernelId = Id<struct KernelTag>;
using GangId = Id<struct GangTag>;
using GraphId = Id<struct GraphTag>;
using LabelId = Id<struct LabelTag>;
using ThreadId = Id<struct ThreadTag>;
using TagId = Id<struct TagTag>;

/// A run of elements of one of Program's arrays.
struct Slice {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// What work is for: decides what the A_s and B_s controls take out (sim/controls.hpp).
enum class Purpose : std::uint8_t { compute, communication, synchronisation };

// ---- signals
// ----------------------------------------------------------------------------------------------

/// A monotone 64-bit counter that lives in a memory.
struct Signal {
  MemoryId owner;
  std::uint64_t initial = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};

/// Satisfied once `signal >= at_least`.
struct SignalWait {
  SignalId signal;
  std::uint64_t at_least = 0;
  /// Tiles of the range that a CTA may work on before the wait binds (a TMA producer's stages);
  /// nothing of them is posted and the CTA does not pass them until it is satisfied.
  int run_ahead_stages = 0;
  friend bool operator==(const SignalWait&, const SignalWait&) = default;
};

struct SignalPost {
  enum class Kind : std::uint8_t { add, raise_to } kind = Kind::add;
  SignalId signal;
  std::uint64_t value = 1;
  /// The device that it comes from, where that is not the poster's: a peer folded away
  /// (sim/fold.hpp).
  std::optional<DeviceId> from{};
  friend bool operator==(const SignalPost&, const SignalPost&) = default;
};

// ---- kernels
// ----------------------------------------------------------------------------------------------

/// What one CTA holds on its SM while it is resident.
struct Footprint {
  int threads = 0;
  int registers = 0;  ///< of the whole CTA
  Bytes shared_memory{};
  friend bool operator==(const Footprint&, const Footprint&) = default;
};

/// Share of each of an SM's pipes that one running CTA asks for, in thousandths of the SM.
struct SmDemand {
  int tensor_milli = 0;
  int issue_milli = 0;
  int load_store_milli = 0;
  friend bool operator==(const SmDemand&, const SmDemand&) = default;
};

/// Bytes that one tile moves. A route charges its links, its switches and both ends' memories.
struct Traffic {
  enum class On : std::uint8_t { memory, route } on = On::memory;
  std::uint32_t index = 0;  ///< of Machine::memories or Machine::routes
  Bytes bytes{};
  bool posted_write =
      false;  ///< SM stores that nobody waits for: they queue behind a saturated link
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// n tiles with the same work; none: it is complete, and posts, once its waits are satisfied and
/// its role has begun. `sm_time` is a tile's time alone on an SM with nothing shared: its
/// rate's cap.
struct TileRange {
  std::int64_t tiles = 0;
  Duration sm_time{};
  SmDemand demand{};
  Bytes l2_bytes{};             ///< a tile
  Slice traffic{};              ///< of Program::traffic, a tile
  Slice waits{};                ///< of Program::waits, before its first tile
  Slice posts{};                ///< of Program::posts
  bool posts_per_tile = false;  ///< else once, when the range is complete
  /// What it takes when chunking is off: its share of the unchunked compute (A). None: its tiles'
  /// time over the CTAs of the role that an idle device holds at once.
  std::optional<Duration> fluid_time{};
  friend bool operator==(const TileRange&, const TileRange&) = default;
};

/// How a role's CTAs take tiles.
enum class TileOrder : std::uint8_t {
  one_cta_per_tile,  ///< not persistent: the block scheduler fills free slots
  static_shares,     ///< tile t goes to CTA t mod n
  counter,           ///< the next free CTA takes the next tile
  ready_first,       ///< the next free CTA takes the first tile whose waits are satisfied
  own_then_counter,  ///< CTA c takes tile c, whenever it comes; the next free CTA takes the next of the others
};

/// A group of CTAs of the grid, or a warp group that every CTA has; walks its own ranges in order.
struct Role {
  enum class Scope : std::uint8_t { ctas, warp_group } scope = Scope::ctas;
  Purpose purpose = Purpose::compute;
  TileOrder order = TileOrder::static_shares;
  int ctas = 0;              ///< of the grid, for Scope::ctas
  int spin_issue_milli = 0;  ///< issue share that a waiting CTA takes
  Slice ranges{};            ///< of Program::ranges
  LabelId label;
  friend bool operator==(const Role&, const Role&) = default;
};

struct Kernel {
  LabelId label;
  int ctas = 0;     ///< of the grid; one_cta_per_tile kernels have one a tile
  int cluster = 1;  ///< CTAs that must be resident together in one GPC
  Footprint footprint{};
  Duration prologue{};           ///< a CTA's time from residency to its first tile
  Slice roles{};                 ///< of Program::roles
  std::optional<GangId> gang{};  ///< set: this kernel is a member and its roles are empty
  std::uint32_t gang_member = 0;
  /// Programmatic launch: the successor may start once this many tiles of role 0 are done (none: at
  /// its end).
  std::optional<std::int64_t> trigger_after_tiles{};
  friend bool operator==(const Kernel&, const Kernel&) = default;
};

// ---- gangs
// ------------------------------------------------------------------------------------------------

/// What one member adds per byte of the gang's progress; numerators over Gang::denominator.
struct GangUse {
  enum class On : std::uint8_t { memory, link, fabric_switch } on = On::memory;
  std::uint32_t index = 0;
  std::int64_t numerator = 0;
  friend bool operator==(const GangUse&, const GangUse&) = default;
};

struct GangMember {
  RankId rank;
  Slice uses{};  ///< of Program::gang_uses
  SmDemand demand_per_cta{};
  friend bool operator==(const GangMember&, const GangMember&) = default;
};

/// A collective whose ranks advance together: it starts when every member's CTAs are resident,
/// moves at its slowest member's rate and ends everywhere at once.
struct Gang {
  LabelId label;
  Bytes bytes{};             ///< its progress: message bytes
  Bandwidth cap{};           ///< progress rate that its algorithm and CTAs reach alone
  Duration start_latency{};  ///< before the first byte: steps x hop
  std::int64_t denominator = 1;
  Slice members{};  ///< of Program::gang_members
  int chunks = 1;   ///< its posts fire when each further 1/chunks of the bytes is done
  Slice posts{};    ///< of Program::posts: posts.count / chunks of them for each chunk, in order
  /// Of a gang that is folded into one member: so many members had these uses together.
  std::int64_t members_folded = 1;
  friend bool operator==(const Gang&, const Gang&) = default;
};

// ---- commands
// ---------------------------------------------------------------------------------------------

/// Every call on a stream comes from one host thread. A wait for an event binds to the latest
/// record before it on its own thread, else to the only record that another thread makes.
struct Launch {
  StreamId stream;
  KernelId kernel;
  bool programmatic = false;                   ///< may start at its predecessor's trigger
  std::optional<EventId> launch_completion{};  ///< recorded when every CTA is resident
  /// Programmatic only: its first tile waits for the predecessor's end (griddepcontrol.wait), so
  /// that only launch and prologue overlap. False: its own signals say what it needs.
  bool waits_for_predecessor = true;
  friend bool operator==(const Launch&, const Launch&) = default;
};
struct Copy {
  StreamId stream;
  std::uint32_t engine = 0;  ///< of the stream's device
  RouteId route;
  Bytes bytes{};
  friend bool operator==(const Copy&, const Copy&) = default;
};
struct Record {
  StreamId stream;
  EventId event;
  friend bool operator==(const Record&, const Record&) = default;
};
struct WaitEvent {
  StreamId stream;
  EventId event;
  friend bool operator==(const WaitEvent&, const WaitEvent&) = default;
};
/// Stream memory operation: the stream waits for a signal.
struct WaitSignal {
  StreamId stream;
  SignalWait wait;
  friend bool operator==(const WaitSignal&, const WaitSignal&) = default;
};
/// Stream memory operation: the stream writes a signal.
struct Post {
  StreamId stream;
  SignalPost post;
  friend bool operator==(const Post&, const Post&) = default;
};
/// Bytes on a NIC queue pair; posts at its target when they have arrived. Its stream goes on when
/// the last byte has left: arrival is the signal's business.
struct Message {
  StreamId stream;
  RouteId route;  ///< with a NIC
  int queue_pair = 0;
  Bytes bytes{};
  SignalPost post;
  friend bool operator==(const Message&, const Message&) = default;
};
/// Blocks the host thread until the event is complete.
struct HostWait {
  EventId event;
  friend bool operator==(const HostWait&, const HostWait&) = default;
};
struct HostDelay {
  Duration delay{};
  friend bool operator==(const HostDelay&, const HostDelay&) = default;
};
/// Issues a graph's commands at once, for one host cost.
struct GraphLaunch {
  GraphId graph;
  friend bool operator==(const GraphLaunch&, const GraphLaunch&) = default;
};

using Call = std::variant<Launch, Copy, Record, WaitEvent, WaitSignal, Post, Message, HostWait,
                          HostDelay, GraphLaunch>;

struct Command {
  Call call;
  LabelId label;
  TagId tag;
  friend bool operator==(const Command&, const Command&) = default;
};

// ---- program
// ----------------------------------------------------------------------------------------------

/// Which boundary and chunk a command belongs to, for attribution.
struct Tag {
  std::string boundary{};
  int chunk = 0;
  Purpose purpose = Purpose::compute;
  friend bool operator==(const Tag&, const Tag&) = default;
};

struct Stream {
  RankId rank;
  int priority = 0;  ///< larger goes first
  LabelId label;
  friend bool operator==(const Stream&, const Stream&) = default;
};

struct HostThread {
  ProcessId process;
  std::vector<Command> commands{};
  friend bool operator==(const HostThread&, const HostThread&) = default;
};

struct Graph {
  std::vector<Command> commands{};
  friend bool operator==(const Graph&, const Graph&) = default;
};

struct Program {
  std::vector<std::string> labels{};  ///< [0] is empty
  std::vector<Tag> tags{};            ///< [0] is no boundary
  std::vector<Stream> streams{};
  std::uint32_t events = 0;
  std::vector<Signal> signals{};
  std::vector<Kernel> kernels{};
  std::vector<Role> roles{};
  std::vector<TileRange> ranges{};
  std::vector<Traffic> traffic{};
  std::vector<SignalWait> waits{};
  std::vector<SignalPost> posts{};
  std::vector<Gang> gangs{};
  std::vector<GangMember> gang_members{};
  std::vector<GangUse> gang_uses{};
  std::vector<Graph> graphs{};
  std::vector<HostThread> threads{};
  friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace weft::sim
