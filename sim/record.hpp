// SPDX-License-Identifier: Apache-2.0
// What a run tells: typed records, never text. Views subscribe, in order, and only they format.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/program.hpp"

namespace weft::sim {

/// Why something that could have run did not.
enum class StallReason : std::uint8_t {
  signal,          ///< a device signal not yet posted
  no_sm,           ///< no SM with room for the CTA or cluster
  engine_busy,     ///< the copy engine, queue pair or server is taken
  stream_order,    ///< a predecessor on its stream
  event,           ///< a wait on another stream's event
  host,            ///< not issued yet
  hardware_queue,  ///< behind another stream's command in a shared hardware queue
  launch,          ///< launch, drain and hop latencies
  gang,            ///< other members not resident yet
  sm_share,        ///< progress below its cap because of co-resident CTAs
  hbm_share,
  l2_share,
  link_share,
  fabric_switch,
  interference,  ///< a named term: see Interference in sim/machine.hpp
};

/// Where a command stands: thread and position in its call list (a graph's commands share the
/// launch's).
struct CommandRef {
  std::uint32_t thread = 0;
  std::uint32_t index = 0;
  std::uint32_t in_graph = 0;
  friend auto operator<=>(const CommandRef&, const CommandRef&) = default;
};

/// A command's life. `turn`: its predecessor on the stream let it go (for a stream's first command
/// 0; for a programmatic launch the trigger; for a host call, without a stream, its issue);
/// `ready`: every ordering edge satisfied; `start`: first progress (a kernel's first CTA is
/// resident); `end`: its completion. The command's own stalls (ctas == 0) tile [turn, start].
struct CommandSpan {
  CommandRef command;
  std::optional<StreamId> stream;
  TimePoint issued;
  TimePoint turn;
  TimePoint ready;
  TimePoint start;
  TimePoint end;
};

/// CTAs of a role that were resident over the same time. Their cohort spans and their stalls other
/// than no_sm (ctas > 0), each times its CTAs, add up to exactly this area; a no_sm stall is the
/// time of CTAs that were launched and not yet resident.
struct ResidencySpan {
  CommandRef command;
  RankId rank;
  std::uint32_t role = 0;  ///< of Program::roles; for a gang's member: of Program::gang_members
  int ctas = 0;
  TimePoint start;
  TimePoint end;
};

/// CTAs that did the same tiles of one range over the same time. tiles_per_cta is 0 for a kernel's
/// prologue and for a member of a gang, whose progress is the gang's (range: of Program::gangs).
struct CohortSpan {
  CommandRef command;
  RankId rank;
  std::uint32_t role = 0;   ///< of Program::roles
  std::uint32_t range = 0;  ///< of Program::ranges
  std::int64_t first_tile = 0;
  std::int64_t tiles_per_cta = 0;
  int ctas = 0;
  TimePoint start;
  TimePoint end;
};

/// From `at` on the activity progresses at this many units a second: bytes of a copy, message or
/// gang; tiles of each CTA of a cohort. 0 ends it.
struct RateChange {
  CommandRef command;
  std::uint32_t activity = 0;  ///< tells the cohorts of one command apart; reused after a 0
  TimePoint at;
  double units_per_second = 0;
  std::optional<StallReason> limited_by;  ///< none: at its own cap
  std::uint32_t range = 0;                ///< of Program::ranges, for a cohort's tiles
  int ctas = 0;                           ///< of the cohort; 0: bytes of a copy, message or gang
};

/// The pipes of an SM that its CTAs share.
enum class SmPipe : std::uint8_t { tensor, issue, load_store };

/// From `at` on CTAs of the activity are on SMs whose CTAs can ask more of a pipe than there is.
/// What others ask of the same `shared` pipe counts together, against `sms` SMs. Ends with the
/// activity (a RateChange of 0); for CTAs that spin, which have no rates of their own, with ctas 0.
struct PipeShare {
  CommandRef command;
  std::uint32_t activity = 0;  ///< as in RateChange
  TimePoint at;
  SmPipe pipe = SmPipe::tensor;
  std::uint32_t shared = 0;  ///< tells such pipes apart; reused
  int sms = 0;
  int ctas = 0;  ///< of the activity on these SMs
  bool spins = false;
  std::uint32_t role = 0;  ///< as in ResidencySpan
};

/// A gap, on the lane of a command or of some CTAs of one of its roles.
struct Stall {
  CommandRef command;
  std::uint32_t role = 0;  ///< as in ResidencySpan, where ctas > 0
  StallReason reason = StallReason::stream_order;
  TimePoint start;
  TimePoint end;
  int ctas = 0;  ///< 0: the whole command
};

/// A command's post, as it leaves: `value` is added or raised to, times its tiles.
struct SignalPosted {
  CommandRef by;
  SignalId signal;
  SignalPost::Kind kind = SignalPost::Kind::add;
  std::uint64_t value = 0;
  TimePoint at;
};

/// A command (or some CTAs of its kernel) that waited for a signal goes on: the post by `by`
/// satisfied it.
struct SignalSeen {
  CommandRef waiter;
  SignalId signal;
  std::optional<CommandRef> by;  ///< none: satisfied from the start
  TimePoint at;
};

/// Receives records as they become final, in time order. The defaults ignore everything.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on(const CommandSpan&) {}
  virtual void on(const CohortSpan&) {}
  virtual void on(const ResidencySpan&) {}
  virtual void on(const RateChange&) {}
  virtual void on(const PipeShare&) {}
  virtual void on(const Stall&) {}
  virtual void on(const SignalPosted&) {}
  virtual void on(const SignalSeen&) {}
};

}  // namespace weft::sim
