// SPDX-License-Identifier: Apache-2.0
#include "sim/critical_path.hpp"

#include <algorithm>
#include <tuple>

namespace weft::sim {

void CriticalPath::on(const CommandSpan& record) {
  told_[record.command].span = record;
}

void CriticalPath::on(const CohortSpan& record) {
  told_[record.command].pieces.push_back({record.start, record.end, record.role, {}});
}

void CriticalPath::on(const ResidencySpan& record) {
  told_[record.command].residencies.push_back(record);
  residency_ends_[record.end].push_back(record.command);
}

void CriticalPath::on(const RateChange& record) {
  if (record.units_per_second == 0) transfer_ends_[record.at].push_back(record.command);
}

void CriticalPath::on(const Stall& record) {
  Told& told = told_[record.command];
  if (record.ctas == 0) {
    told.stalls.push_back(record);
  } else {
    told.pieces.push_back({record.start, record.end, record.role, record.reason});
  }
}

void CriticalPath::on(const SignalPosted& record) {
  posted_[record.signal.value()].push_back(record);
}

void CriticalPath::on(const SignalSeen& record) {
  told_[record.waiter].seen.push_back(record);
}

/// Where a command's call is, and its neighbours: what the records do not repeat.
class PathCalls {
 public:
  explicit PathCalls(const Program& program) : program_(program) {
    for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
      const std::vector<Command>& commands = program.threads[t].commands;
      for (std::uint32_t i = 0; i < commands.size(); ++i) {
        note({.thread = t, .index = i}, commands[i].call);
        const auto* graph = std::get_if<GraphLaunch>(&commands[i].call);
        if (graph == nullptr) continue;
        const std::vector<Command>& inner = program.graphs[graph->graph.value()].commands;
        for (std::uint32_t k = 0; k < inner.size(); ++k) {
          note({.thread = t, .index = i, .in_graph = k + 1}, inner[k].call);
        }
      }
    }
  }

  [[nodiscard]] const Call& call(const CommandRef& ref) const {
    const Command& outer = program_.threads[ref.thread].commands[ref.index];
    if (ref.in_graph == 0) return outer.call;
    const auto& graph = std::get<GraphLaunch>(outer.call);
    return program_.graphs[graph.graph.value()].commands[ref.in_graph - 1].call;
  }
  /// The command before this one on its stream; none for the first.
  [[nodiscard]] std::optional<CommandRef> predecessor(const CommandRef& ref) const {
    const auto found = predecessor_.find(ref);
    return found == predecessor_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] const std::vector<CommandRef>& records(EventId event) const {
    static const std::vector<CommandRef> none;
    const auto found = records_.find(event.value());
    return found == records_.end() ? none : found->second;
  }
  [[nodiscard]] const std::vector<CommandRef>& members(GangId gang) const {
    static const std::vector<CommandRef> none;
    const auto found = members_.find(gang.value());
    return found == members_.end() ? none : found->second;
  }
  /// The last host_wait before a call on its thread; none if there is no such.
  [[nodiscard]] std::optional<CommandRef> host_wait_before(const CommandRef& ref) const {
    for (std::uint32_t i = ref.index; i-- > 0;) {
      if (std::holds_alternative<HostWait>(program_.threads[ref.thread].commands[i].call)) {
        return CommandRef{.thread = ref.thread, .index = i};
      }
    }
    return std::nullopt;
  }

 private:
  void note(const CommandRef& ref, const Call& call) {
    std::visit(
        [&](const auto& c) {
          if constexpr (requires { c.stream; }) {
            const auto last = last_on_stream_.find(c.stream.value());
            if (last != last_on_stream_.end()) predecessor_[ref] = last->second;
            last_on_stream_[c.stream.value()] = ref;
          }
        },
        call);
    if (const auto* record = std::get_if<Record>(&call)) {
      records_[record->event.value()].push_back(ref);
    } else if (const auto* launch = std::get_if<Launch>(&call)) {
      const Kernel& kernel = program_.kernels[launch->kernel.value()];
      if (kernel.gang) members_[kernel.gang->value()].push_back(ref);
    }
  }

  const Program& program_;
  std::map<std::uint32_t, CommandRef> last_on_stream_;
  std::map<CommandRef, CommandRef> predecessor_;
  std::map<std::uint32_t, std::vector<CommandRef>> records_;
  std::map<std::uint32_t, std::vector<CommandRef>> members_;
};

/// Walks back from (command, time) to the cause of each stretch.
class PathTracer {
 public:
  PathTracer(const CriticalPath& path, const Machine& machine, const Program& program)
      : path_(path), machine_(machine), program_(program), calls_(program) {}

  std::vector<PathSegment> trace() {
    const CommandSpan* last = nullptr;
    for (const auto& [ref, told] : path_.told_) {
      if (told.span && (last == nullptr || told.span->end > last->end)) last = &*told.span;
    }
    if (last == nullptr) return {};
    at_ = last->command;
    time_ = last->end;
    while (time_ > TimePoint()) step();
    std::reverse(segments_.begin(), segments_.end());
    return segments_;
  }

 private:
  using Told = CriticalPath::Told;
  using Piece = CriticalPath::Piece;
  // A chain of causes at one moment is longer than this only if it goes in a circle.
  static constexpr int kMostJumps = 64;

  void step() {
    const Told& told = path_.told_.at(at_);
    const CommandSpan& span = *told.span;
    if (jumps_ > kMostJumps) {
      lose(StallReason::stream_order, span.turn < time_ ? span.turn : TimePoint());
    } else if (time_ > span.start) {
      in_progress(told, span);
    } else {
      before_start(told, span);
    }
  }

  // The command's time back to `start` is on the path.
  void take(std::optional<StallReason> waits, TimePoint start) {
    segments_.push_back({.command = at_, .waits = waits, .start = start, .end = time_});
    time_ = start;
    jumps_ = 0;
    entered_ = false;
  }
  void lose(StallReason reason, TimePoint start) { take(reason, start); }

  void jump(const CommandRef& to, TimePoint at, StallReason latency) {
    if (at < time_) lose(latency, at);
    ++jumps_;
    at_ = to;
    entered_ = false;
  }

  [[nodiscard]] const CommandSpan* span_of(const CommandRef& ref) const {
    const auto found = path_.told_.find(ref);
    return found == path_.told_.end() || !found->second.span ? nullptr : &*found->second.span;
  }

  void in_progress(const Told& told, const CommandSpan& span) {
    // A message arrives after its span.
    if (time_ > span.end) return lose(StallReason::launch, span.end);
    if (entered_ && follow_sm()) return;
    const Piece* best = nullptr;
    TimePoint last_end;
    for (const Piece& piece : told.pieces) {
      if (piece.waits == StallReason::no_sm) continue;
      if (piece.end <= time_) last_end = std::max(last_end, piece.end);
      if (piece.start >= time_ || piece.end < time_) continue;
      if (best == nullptr || rank(piece) > rank(*best)) best = &piece;
    }
    if (best == nullptr) {
      // After its CTAs: the drain; without CTAs: a transfer or another operation as a whole.
      if (told.pieces.empty()) return take(std::nullopt, span.start);
      return lose(StallReason::launch, std::max(last_end, span.start));
    }
    if (!best->waits) {
      const Piece piece = *best;
      take(std::nullopt, piece.start);
      entered_ = std::any_of(
          told.residencies.begin(), told.residencies.end(), [&](const ResidencySpan& residency) {
            return residency.role == piece.role && residency.start == piece.start;
          });
      return;
    }
    if (best->end == time_ && follow(*best->waits, told)) return;
    lose(*best->waits, std::max(best->start, span.start));
  }

  // What ends now rather than goes on; work rather than waiting; the longer.
  [[nodiscard]] std::tuple<bool, bool, std::int64_t> rank(const Piece& piece) const {
    return {piece.end == time_, !piece.waits, -piece.start.ps()};
  }

  void before_start(const Told& told, const CommandSpan& span) {
    for (const Stall& stall : told.stalls) {
      if (stall.end != time_) continue;
      if (stall.reason == StallReason::host) return follow_host();
      if (follow(stall.reason, told)) return;
      return lose(stall.reason, stall.start);
    }
    if (!span.stream) return follow_host();
    const std::optional<CommandRef> before = calls_.predecessor(at_);
    const CommandSpan* its = before ? span_of(*before) : nullptr;
    if (its != nullptr && its->start <= time_ && time_ <= its->end) {
      return jump(*before, time_, StallReason::launch);
    }
    follow_host();
  }

  // Finds what ended a wait at this moment; false if nothing that was recorded did.
  bool follow(StallReason reason, const Told& told) {
    switch (reason) {
      case StallReason::signal:
        return follow_signal(told);
      case StallReason::event:
        return follow_event();
      case StallReason::no_sm:
        return follow_sm();
      case StallReason::engine_busy:
        return follow_engine();
      case StallReason::gang:
        return follow_gang();
      case StallReason::stream_order: {
        const std::optional<CommandRef> before = calls_.predecessor(at_);
        const CommandSpan* its = before ? span_of(*before) : nullptr;
        if (its == nullptr || its->end != time_) return false;
        jump(*before, time_, reason);
        return true;
      }
      default:
        return false;
    }
  }

  bool follow_signal(const Told& told) {
    for (const SignalSeen& seen : told.seen) {
      if (seen.at != time_ || !seen.by) continue;
      const auto posts = path_.posted_.find(seen.signal.value());
      if (posts == path_.posted_.end()) continue;
      std::optional<TimePoint> latest;
      for (const SignalPosted& post : posts->second) {
        if (post.by != *seen.by || post.at > time_) continue;
        if (!latest || post.at > *latest) latest = post.at;
      }
      if (!latest || span_of(*seen.by) == nullptr) continue;
      jump(*seen.by, *latest, StallReason::signal);
      return true;
    }
    return false;
  }

  bool follow_event() {
    const Call& call = calls_.call(at_);
    const auto* wait = std::get_if<WaitEvent>(&call);
    const auto* host = std::get_if<HostWait>(&call);
    if (wait == nullptr && host == nullptr) return false;
    const CommandSpan* latest = nullptr;
    for (const CommandRef& record : calls_.records(wait != nullptr ? wait->event : host->event)) {
      const CommandSpan* its = span_of(record);
      if (its == nullptr || its->end > time_) continue;
      if (latest == nullptr || its->end > latest->end) latest = its;
    }
    if (latest == nullptr) return false;
    jump(latest->command, latest->end, StallReason::launch);
    return true;
  }

  [[nodiscard]] std::optional<DeviceId> device_of(const CommandRef& ref) const {
    const CommandSpan* span = span_of(ref);
    if (span == nullptr || !span->stream) return std::nullopt;
    return machine_.rank(program_.streams[span->stream->value()].rank).device;
  }

  // The CTAs that left an SM of the device at this moment.
  bool follow_sm() {
    entered_ = false;
    const auto ends = path_.residency_ends_.find(time_);
    if (ends == path_.residency_ends_.end()) return false;
    for (const CommandRef& other : ends->second) {
      if (device_of(other) != device_of(at_) || span_of(other) == nullptr) continue;
      jump(other, time_, StallReason::no_sm);
      return true;
    }
    return false;
  }

  // The transfer whose last byte left the engine or queue pair at this moment.
  bool follow_engine() {
    const auto ends = path_.transfer_ends_.find(time_);
    if (ends == path_.transfer_ends_.end()) return false;
    const auto server = [&](const CommandRef& ref) -> std::optional<std::uint64_t> {
      const Call& call = calls_.call(ref);
      if (const auto* copy = std::get_if<Copy>(&call)) {
        return (std::uint64_t{device_of(ref)->value()} << 32) | copy->engine;
      }
      if (const auto* message = std::get_if<Message>(&call)) {
        const Route& route = machine_.routes[message->route.value()];
        return (std::uint64_t{1} << 63) | (std::uint64_t{route.nic->value()} << 32) |
               static_cast<std::uint32_t>(message->queue_pair);
      }
      return std::nullopt;
    };
    for (const CommandRef& other : ends->second) {
      if (other == at_ || span_of(other) == nullptr || server(other) != server(at_)) continue;
      if (!server(other)) continue;
      jump(other, time_, StallReason::engine_busy);
      return true;
    }
    return false;
  }

  // The member whose CTAs were resident last; the start latency lies after that.
  bool follow_gang() {
    const auto* launch = std::get_if<Launch>(&calls_.call(at_));
    if (launch == nullptr) return false;
    const Kernel& kernel = program_.kernels[launch->kernel.value()];
    if (!kernel.gang) return false;
    std::optional<TimePoint> latest;
    CommandRef member;
    for (const CommandRef& other : calls_.members(*kernel.gang)) {
      const auto found = path_.told_.find(other);
      if (found == path_.told_.end() || !found->second.span) continue;
      for (const ResidencySpan& residency : found->second.residencies) {
        if (residency.start > time_ || residency.end < time_) continue;
        if (latest && residency.start <= *latest) continue;
        latest = residency.start;
        member = other;
      }
    }
    if (!latest) return false;
    jump(member, *latest, StallReason::gang);
    entered_ = *latest > span_of(member)->start;
    return true;
  }

  // The host's calls since it last waited.
  void follow_host() {
    const std::optional<CommandRef> wait = calls_.host_wait_before(at_);
    const CommandSpan* its = wait ? span_of(*wait) : nullptr;
    if (its == nullptr || its->end > time_) return lose(StallReason::host, TimePoint());
    if (its->end == time_ && jumps_ > kMostJumps / 2) return lose(StallReason::host, TimePoint());
    jump(*wait, its->end, StallReason::host);
  }

  const CriticalPath& path_;
  const Machine& machine_;
  const Program& program_;
  PathCalls calls_;
  std::vector<PathSegment> segments_;
  CommandRef at_;
  TimePoint time_;
  int jumps_ = 0;
  bool entered_ = false;  // the CTAs whose work was taken last became resident at time_
};

std::vector<PathSegment> CriticalPath::trace(const Machine& machine, const Program& program) const {
  return PathTracer(*this, machine, program).trace();
}

}  // namespace weft::sim
