// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "tests/sim/laws/calls.hpp"
#include "tests/sim/laws/laws.hpp"

namespace weft::sim::laws {

Breaches critical_path_abuts(const RecordedRun& run) {
  Breaches breaches;
  std::map<CommandRef, CommandSpan> spans;
  for (const CommandSpan& span : run.records.commands) spans.emplace(span.command, span);
  TimePoint at;
  Duration sum;
  for (const PathSegment& segment : run.path.trace(run.machine, run.program)) {
    if (segment.start != at || segment.end <= segment.start) {
      breaches.push_back(fmt::format("the critical path goes from {} ps to [{}, {}) of {}", at.ps(),
                                     segment.start.ps(), segment.end.ps(), name(segment.command)));
    }
    at = segment.end;
    sum += segment.end - segment.start;
    const CommandSpan& span = spans.at(segment.command);
    if (!segment.waits && (segment.start < span.start || segment.end > span.end)) {
      breaches.push_back(fmt::format("the critical path has {} at work in [{}, {}) ps",
                                     name(segment.command), segment.start.ps(), segment.end.ps()));
    }
  }
  if (at != run.result.end || sum != run.result.end.since_start()) {
    breaches.push_back(fmt::format("the critical path ends at {} ps and the run at {}", at.ps(),
                                   run.result.end.ps()));
  }
  return breaches;
}

}  // namespace weft::sim::laws
