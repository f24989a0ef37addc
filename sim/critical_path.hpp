// SPDX-License-Identifier: Apache-2.0
// Why did the run end when it did? The chain of work and latencies that leads from 0 to its end.
//
// Traced backwards from the command that ended last: what a command was doing, then whatever let it
// begin that (the CTA whose SM it got, the transfer that freed its engine, the post that it waited
// for, its predecessor on the stream, the host), until time 0. The segments abut, so their lengths
// sum to the makespan. Where two things would do as a cause, the path takes the one first in the
// program: it is a critical path, not all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sim/record.hpp"

namespace weft::sim {

/// A stretch of the path: the command worked, or lost the time for `waits`.
struct PathSegment {
  CommandRef command;
  std::optional<StallReason> waits;  ///< none: it progressed
  TimePoint start;
  TimePoint end;
};

/// Subscribe it to a run, then ask for the path.
class CriticalPath : public RecordSink {
 public:
  using RecordSink::on;
  void on(const CommandSpan& record) override;
  void on(const CohortSpan& record) override;
  void on(const ResidencySpan& record) override;
  void on(const RateChange& record) override;
  void on(const Stall& record) override;
  void on(const SignalPosted& record) override;
  void on(const SignalSeen& record) override;

  /// Returns the path of the run from 0 to its end, in order of time; empty if it took no time.
  [[nodiscard]] std::vector<PathSegment> trace(const Machine& machine,
                                               const Program& program) const;

 private:
  friend class PathTracer;

  /// Some CTAs' time: a cohort, or a stall with its reason.
  struct Piece {
    TimePoint start;
    TimePoint end;
    std::uint32_t role = 0;
    std::optional<StallReason> waits;
  };
  struct Told {
    std::optional<CommandSpan> span;
    std::vector<Stall> stalls;  // of the whole command
    std::vector<Piece> pieces;
    std::vector<ResidencySpan> residencies;
    std::vector<SignalSeen> seen;
  };

  std::map<CommandRef, Told> told_;
  std::map<TimePoint, std::vector<CommandRef>> residency_ends_;
  std::map<TimePoint, std::vector<CommandRef>> transfer_ends_;
  std::map<std::uint32_t, std::vector<SignalPosted>> posted_;  // by signal
};

}  // namespace weft::sim
