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

/// A command's life. `ready`: every ordering edge satisfied; `start`: first progress; `end`: its
/// completion.
struct CommandSpan {
  CommandRef command;
  std::optional<StreamId> stream;
  TimePoint issued;
  TimePoint ready;
  TimePoint start;
  TimePoint end;
};

/// CTAs that did the same tiles of one range over the same time.
struct CohortSpan {
  CommandRef command;
  RankId rank;
  std::uint32_t role = 0;   ///< of Program::roles
  std::uint32_t range = 0;  ///< of Program::ranges
  std::int64_t first_tile = 0;
  std::int64_t tiles_per_cta = 0;
  int ctas = 0;
  int sms = 0;
  TimePoint start;
  TimePoint end;
};

/// From `at` on the activity progresses at this many units a second (bytes, or tiles a CTA).
struct RateChange {
  CommandRef command;
  TimePoint at;
  double units_per_second = 0;
  std::optional<StallReason> limited_by;  ///< none: at its own cap
};

/// A gap, on the lane of a command or of a cohort's CTAs.
struct Stall {
  CommandRef command;
  StallReason reason = StallReason::stream_order;
  TimePoint start;
  TimePoint end;
  int ctas = 0;  ///< 0: the whole command
};

/// Receives records as they become final, in time order. The defaults ignore everything.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on(const CommandSpan&) {}
  virtual void on(const CohortSpan&) {}
  virtual void on(const RateChange&) {}
  virtual void on(const Stall&) {}
};

}  // namespace weft::sim
