// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tests/sim/laws/calls.hpp"
#include "tests/sim/laws/laws.hpp"

namespace weft::sim::laws {

namespace {

using Spans = std::map<CommandRef, CommandSpan>;

std::string times(const CommandSpan& s) {
  return fmt::format("issued {} turn {} ready {} start {} end {}", s.issued.ps(), s.turn.ps(),
                     s.ready.ps(), s.start.ps(), s.end.ps());
}

/// The record that each wait for an event means: the latest before it on its own thread, else the
/// only one that there is.
class EventRecords {
 public:
  explicit EventRecords(const Program& program) {
    for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
      std::map<EventId, CommandRef> latest;
      for (const NamedCall& call : calls_of(program, t)) {
        if (const auto* record = std::get_if<Record>(&call.command->call)) {
          latest.insert_or_assign(record->event, call.ref);
          only_.insert_or_assign(record->event, call.ref);
        } else if (const auto* launch = std::get_if<Launch>(&call.command->call)) {
          // Fires while the kernel runs: its start is the earliest that it can be.
          if (launch->launch_completion) resident_[*launch->launch_completion] = call.ref;
        } else if (const auto* wait = std::get_if<WaitEvent>(&call.command->call)) {
          note(latest, wait->event, call.ref);
        } else if (const auto* host = std::get_if<HostWait>(&call.command->call)) {
          note(latest, host->event, call.ref);
        }
      }
    }
  }

  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [wait, own, event] : waits_) {
      if (own) {
        visit(wait, *own, false);
      } else if (only_.contains(event)) {
        visit(wait, only_.at(event), false);
      } else if (resident_.contains(event)) {
        visit(wait, resident_.at(event), true);
      }
    }
  }

 private:
  struct Wait {
    CommandRef wait;
    std::optional<CommandRef> own;
    EventId event;
  };

  void note(const std::map<EventId, CommandRef>& latest, EventId event, const CommandRef& wait) {
    const auto own = latest.find(event);
    waits_.push_back(
        {wait, own == latest.end() ? std::nullopt : std::optional(own->second), event});
  }

  std::vector<Wait> waits_;
  std::map<EventId, CommandRef> only_;
  std::map<EventId, CommandRef> resident_;
};

void check_order(const CommandSpan& span, Breaches& breaches) {
  if (span.issued > span.ready || span.turn > span.ready || span.ready > span.start ||
      span.start > span.end) {
    breaches.push_back(
        fmt::format("{} has its times out of order: {}", name(span.command), times(span)));
  }
}

Spans spans_of(const RecordedRun& run, Breaches& breaches) {
  Spans spans;
  for (const CommandSpan& span : run.records.commands) {
    if (!spans.emplace(span.command, span).second) {
      breaches.push_back(fmt::format("{} ended twice", name(span.command)));
    }
  }
  return spans;
}

}  // namespace

Breaches commands_end_once(const RecordedRun& run) {
  Breaches breaches;
  const Spans spans = spans_of(run, breaches);
  std::size_t expected = 0;
  TimePoint last;
  for (std::uint32_t t = 0; t < run.program.threads.size(); ++t) {
    TimePoint issued;
    for (const NamedCall& call : calls_of(run.program, t)) {
      ++expected;
      const auto found = spans.find(call.ref);
      if (found == spans.end()) {
        breaches.push_back(fmt::format("{} never ended", name(call.ref)));
        continue;
      }
      const CommandSpan& span = found->second;
      if (span.stream != call.stream) {
        breaches.push_back(fmt::format("{} is recorded on another stream", name(call.ref)));
      }
      check_order(span, breaches);
      if (span.issued < issued) {
        breaches.push_back(fmt::format("{} was issued before its predecessor", name(call.ref)));
      }
      issued = span.issued;
      if (std::holds_alternative<HostWait>(call.command->call)) issued = span.end;
      last = std::max(last, span.end);
    }
  }
  if (spans.size() != expected) {
    breaches.push_back(fmt::format("{} commands ended of {}", spans.size(), expected));
  }
  if (last != run.result.end) {
    breaches.push_back(fmt::format("the run ended at {} ps and its last command at {} ps",
                                   run.result.end.ps(), last.ps()));
  }
  EventRecords(run.program)
      .for_each([&](const CommandRef& wait, const CommandRef& record, bool residency) {
        if (!spans.contains(wait) || !spans.contains(record)) return;
        const CommandSpan& made = spans.at(record);
        if (spans.at(wait).end < (residency ? made.start : made.end)) {
          breaches.push_back(fmt::format("{} went on before {}", name(wait), name(record)));
        }
      });
  return breaches;
}

Breaches lanes_are_tiled(const RecordedRun& run) {
  Breaches breaches;
  Breaches ignored;
  const Spans spans = spans_of(run, ignored);
  std::map<CommandRef, std::vector<Stall>> stalls;
  for (const Stall& stall : run.records.stalls) {
    if (stall.ctas == 0) stalls[stall.command].push_back(stall);
    if (stall.start >= stall.end) {
      breaches.push_back(fmt::format("{} has a stall of no length", name(stall.command)));
    }
  }
  for (auto& [ref, span] : spans) {
    if (!span.stream) continue;
    std::vector<Stall>& mine = stalls[ref];
    std::stable_sort(mine.begin(), mine.end(),
                     [](const Stall& a, const Stall& b) { return a.start < b.start; });
    TimePoint at = span.turn;
    for (const Stall& stall : mine) {
      if (stall.start != at) {
        breaches.push_back(
            fmt::format("{}: a stall begins at {} where the last one ended at {}; {}", name(ref),
                        stall.start.ps(), at.ps(), times(span)));
      }
      at = stall.end;
    }
    if (at != span.start) {
      breaches.push_back(
          fmt::format("{}: its stalls end at {}; {}", name(ref), at.ps(), times(span)));
    }
  }
  std::map<StreamId, TimePoint> stream_end;
  for (std::uint32_t t = 0; t < run.program.threads.size(); ++t) {
    for (const NamedCall& call : calls_of(run.program, t)) {
      if (!call.stream || !spans.contains(call.ref)) continue;
      const CommandSpan& span = spans.at(call.ref);
      TimePoint& end = stream_end[*call.stream];
      const auto* launch = std::get_if<Launch>(&call.command->call);
      const bool early = launch != nullptr && launch->programmatic;
      if (early ? span.turn > end : span.turn != end) {
        breaches.push_back(fmt::format("{} has its turn at {} and its predecessor ends at {}",
                                       name(call.ref), span.turn.ps(), end.ps()));
      }
      end = early ? std::max(end, span.end) : span.end;
    }
  }
  return breaches;
}

}  // namespace weft::sim::laws
