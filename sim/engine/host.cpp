// SPDX-License-Identifier: Apache-2.0
// Host threads, hardware queues, streams and events: when may a command begin?
//
// A command begins when it is issued, it is at the head of its hardware queue, what is before it
// on its stream is complete (or, for a programmatic launch, has triggered), and what it waits for
// has come. A wait holds its hardware queue, so that another stream's commands behind it wait too.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

namespace {

// Commands from which on a program is larger than the caches of a core.
constexpr std::size_t kLongProgram = 4'096;

}  // namespace

void Simulation::start_threads() {
  thread_queues_.resize(program_.threads.size());
  for (std::uint32_t q = 0; q < compiled_.queues.size(); ++q) {
    const HardwareQueue& queue = compiled_.queues[q];
    for (std::uint32_t i = 0; i < queue.lanes; ++i) {
      const QueueLane& lane = compiled_.lanes[queue.first_lane + i];
      const std::uint32_t first = compiled_.queue_order[lane.first];
      thread_queues_[compiled_.commands[first].ref.thread].push_back(q);
    }
  }
  segment_calls_.assign(compiled_.segments.size() + 1, 0);
  for (const HostCall& call : compiled_.host_calls) ++segment_calls_[call.segment + 1];
  for (std::size_t i = 1; i < segment_calls_.size(); ++i) {
    segment_calls_[i] += segment_calls_[i - 1];
  }
  for (const std::uint32_t segment : compiled_.thread_segment) {
    activate(segment, 0);
    try_activate(compiled_.segments[segment].next);
  }
}

void Simulation::activate(std::uint32_t segment, std::int64_t base) {
  segments_[segment] = {.active = true, .base = base};
  ++segments_active_;
  for (std::uint32_t i = segment_calls_[segment]; i < segment_calls_[segment + 1]; ++i) {
    const HostCall& call = compiled_.host_calls[i];
    ++activities_;
    end_ = std::max(end_, base + call.end);
    host_span(call.ref, base + call.begin, base + call.begin, base + call.end);
  }
  for (const std::uint32_t queue : thread_queues_[compiled_.segments[segment].thread]) {
    mark_queue(queue);
  }
}

// The segment and those after it begin, up to one whose event has not come.
void Simulation::try_activate(std::uint32_t index) {
  for (; index != kNone; index = compiled_.segments[index].next) {
    const Segment& segment = compiled_.segments[index];
    RecordState& record = records_[segment.waits_for];
    if (record.at < 0) {
      segment_next_[index] = record.first_segment;
      record.first_segment = index;
      return;
    }
    const std::int64_t reached = segments_[index - 1].base + segment.offset;
    const std::int64_t start = std::max(reached, record.at + sync(machine_.control.signal_host));
    ++activities_;
    end_ = std::max(end_, start);
    host_span(segment.host_wait, reached, start, start);
    activate(index, start);
  }
}

void Simulation::host_span(CommandRef ref, std::int64_t begin, std::int64_t start,
                           std::int64_t end) {
  if (!recording()) return;
  if (start > begin) {
    emit(Stall{.command = ref,
               .reason = StallReason::event,
               .start = TimePoint::from_ps(begin),
               .end = TimePoint::from_ps(start)});
  }
  emit(CommandSpan{.command = ref,
                   .stream = {},
                   .issued = TimePoint::from_ps(begin),
                   .turn = TimePoint::from_ps(begin),
                   .ready = TimePoint::from_ps(start),
                   .start = TimePoint::from_ps(start),
                   .end = TimePoint::from_ps(end)});
}

void Simulation::wake_queue(std::uint32_t queue, std::int64_t time) {
  QueueState& state = queues_[queue];
  if (state.wake_at == time) return;
  state.wake_at = time;
  at(time, Phase::start, kNone, queue, {.what = What::queue_wake, .of = queue});
}

// The first issued command of the queue, the earliest of its lanes; where none is issued yet, the
// first that is known to come.
std::uint32_t Simulation::head(std::uint32_t queue, std::uint32_t& lane) {
  const HardwareQueue& hardware = compiled_.queues[queue];
  if (hardware.lanes == 1) {
    lane = hardware.first_lane;
    const QueueLane& only = compiled_.lanes[lane];
    if (lane_position_[lane] == only.count) return kNone;
    const std::uint32_t index = compiled_.queue_order[only.first + lane_position_[lane]];
    return segments_[compiled_.commands[index].segment].active ? index : kNone;
  }
  std::uint32_t best = kNone;
  for (std::uint32_t i = hardware.first_lane; i < hardware.first_lane + hardware.lanes; ++i) {
    if (lane_position_[i] == compiled_.lanes[i].count) continue;
    const std::uint32_t index = compiled_.queue_order[compiled_.lanes[i].first + lane_position_[i]];
    const CompiledCommand& command = compiled_.commands[index];
    if (!segments_[command.segment].active) continue;
    if (best != kNone && issued(command) >= issued(compiled_.commands[best])) continue;
    best = index;
    lane = i;
  }
  return best;
}

// In a program that no cache holds, what the next commands need is asked for before their turn: each
// of these reads what an earlier one has fetched.
void Simulation::fetch_ahead(std::uint32_t lane) const {
  const QueueLane& its = compiled_.lanes[lane];
  const std::uint32_t* const order = compiled_.queue_order.data() + its.first;
  const std::uint32_t position = lane_position_[lane];
  if (position + 8 >= its.count) return;
  __builtin_prefetch(&compiled_.commands[order[position + 8]]);
  const auto kernel = [&](std::uint32_t ahead) -> const Kernel* {
    const CompiledCommand& command = compiled_.commands[order[position + ahead]];
    return command.op == Op::launch ? &program_.kernels[command.target] : nullptr;
  };
  if (const Kernel* const far = kernel(5)) {
    __builtin_prefetch(far);
    __builtin_prefetch(reinterpret_cast<const char*>(far + 1) - 1);
  }
  if (const Kernel* const near = kernel(3)) {
    __builtin_prefetch(&program_.roles[near->roles.first]);
    __builtin_prefetch(&compiled_.role_tiles[near->roles.first]);
  }
  if (const Kernel* const next = kernel(1)) {
    if (next->roles.count == 0) return;
    const std::uint32_t range = program_.roles[next->roles.first].ranges.first;
    __builtin_prefetch(&program_.ranges[range]);
    __builtin_prefetch(reinterpret_cast<const char*>(&program_.ranges[range] + 1) - 1);
    __builtin_prefetch(&compiled_.range_begin[range]);
  }
}

// Whether what is next in the queue only waits for the command, which is before it on its stream.
bool Simulation::stays_behind(std::uint32_t queue, std::uint32_t command) {
  if (compiled_.queues[queue].lanes != 1) return false;
  std::uint32_t lane = 0;
  const std::uint32_t next = head(queue, lane);
  if (next == kNone) return true;
  const CompiledCommand& its = compiled_.commands[next];
  return its.stream == compiled_.commands[command].stream && !its.programmatic &&
         streams_[its.stream].outstanding > 0 && issued(its) <= now_;
}

void Simulation::dispatch(std::uint32_t queue) {
  queues_[queue].dirty = false;
  for (;;) {
    std::uint32_t lane = 0;
    const std::uint32_t index = head(queue, lane);
    if (index == kNone) return;
    const std::int64_t issue = issued(compiled_.commands[index]);
    if (issue > now_) return wake_queue(queue, issue);
    if (!dispatch_one(queue, index)) return;
    ++lane_position_[lane];
    queues_[queue].head_since = now_;
    if (compiled_.commands.size() > kLongProgram) fetch_ahead(lane);
    if (stays_behind(queue, index)) return;
  }
}

bool Simulation::dispatch_one(std::uint32_t queue, std::uint32_t index) {
  const CompiledCommand& command = compiled_.commands[index];
  StreamState& stream = streams_[command.stream];
  if (stream.outstanding > 0 &&
      !(command.programmatic && stream.last_run != kNone && stream.last_triggered)) {
    return false;
  }
  switch (command.op) {
    case Op::launch:
      launch(index, queue);
      return true;
    case Op::copy:
    case Op::message:
      start_transfer(index, queue);
      return true;
    case Op::record:
      reach(command.target, index);
      end_instant(queue, index, StallReason::event);
      return true;
    case Op::wait_event:
      if (!pass_event(queue, command)) return false;
      end_instant(queue, index, StallReason::event);
      return true;
    case Op::wait_signal:
      if (!pass_signal(queue, index)) return false;
      start_memory_op(index, queue);
      return true;
    case Op::post:
      start_memory_op(index, queue);
      return true;
  }
  return false;
}

bool Simulation::pass_event(std::uint32_t queue, const CompiledCommand& command) {
  QueueState& state = queues_[queue];
  RecordState& record = records_[command.target];
  if (record.at < 0) {
    if (state.wait == QueueState::Wait::nothing) {
      state.wait = QueueState::Wait::record;
      state.next_waiter = record.first_queue;
      record.first_queue = queue;
    }
    return false;
  }
  const std::int64_t hop = record.stream == command.stream
                               ? 0
                               : sync(machine_.control.event_hop) +
                                     behind_host_reads(compiled_.streams[command.stream].device);
  if (record.at + hop <= now_) return true;
  wake_queue(queue, record.at + hop);
  return false;
}

bool Simulation::pass_signal(std::uint32_t queue, std::uint32_t index) {
  const CompiledCommand& command = compiled_.commands[index];
  ViewState& view = views_[command.target];
  const auto least = static_cast<std::uint64_t>(command.amount);
  if (view.value >= least) {
    if (recording()) seen(index, command.target);
    return true;
  }
  QueueState& state = queues_[queue];
  state.late = true;
  if (state.wait == QueueState::Wait::nothing) {
    state.wait = QueueState::Wait::view;
    view.waiters.push_back({.kind = Waiter::Kind::queue, .of = queue, .at_least = least});
  }
  return false;
}

// A record is reached: who waits for it may go on, a hop later on another stream.
void Simulation::reach(std::uint32_t index, std::uint32_t command) {
  RecordState& record = records_[index];
  record.at = now_;
  record.stream = compiled_.commands[command].stream;
  record.command = command;
  for (std::uint32_t queue = record.first_queue; queue != kNone;) {
    QueueState& state = queues_[queue];
    state.wait = QueueState::Wait::nothing;
    const std::uint32_t next = state.next_waiter;
    state.next_waiter = kNone;
    mark_queue(queue);
    queue = next;
  }
  record.first_queue = kNone;
  for (std::uint32_t segment = record.first_segment; segment != kNone;) {
    const std::uint32_t next = segment_next_[segment];
    try_activate(segment);
    segment = next;
  }
  record.first_segment = kNone;
}

void Simulation::begin_on_stream(const CompiledCommand& command) {
  StreamState& stream = streams_[command.stream];
  ++stream.outstanding;
  stream.last_run = kNone;
  stream.last_triggered = false;
}

void Simulation::complete_on_stream(std::uint32_t index) {
  const CompiledCommand& command = compiled_.commands[index];
  StreamState& stream = streams_[command.stream];
  ++activities_;
  ++commands_done_;
  end_ = std::max(end_, now_);
  if (--stream.outstanding > 0) return;
  stream.turn = now_;
  stream.last_run = kNone;
  mark_queue(compiled_.streams[command.stream].queue);
}

// A command that takes no time once it may pass.
void Simulation::end_instant(std::uint32_t queue, std::uint32_t index, StallReason reason) {
  const CompiledCommand& command = compiled_.commands[index];
  StreamState& stream = streams_[command.stream];
  if (recording()) {
    const std::int64_t head = stall_before_dispatch(index, stream.turn, queues_[queue].head_since);
    stall(index, reason, head, now_);
    span(index, stream.turn, now_, now_, now_);
  }
  stream.turn = now_;
  stream.last_run = kNone;
  ++activities_;
  ++commands_done_;
  end_ = std::max(end_, now_);
}

// ---- stream memory operations

void Simulation::start_memory_op(std::uint32_t index, std::uint32_t queue) {
  const CompiledCommand& command = compiled_.commands[index];
  const std::uint32_t slot = transfers_.take();
  transfers_[slot] = {.command = index, .turn = streams_[command.stream].turn, .dispatched = now_};
  if (recording()) {
    const std::int64_t head =
        stall_before_dispatch(index, streams_[command.stream].turn, queues_[queue].head_since);
    stall(index, StallReason::signal, head, now_);
  }
  begin_on_stream(command);
  const ControlLatency& control = machine_.control;
  // A stream that did not find its signal looks again at times that have nothing to do with the post: half a
  // period later in the mean.
  const bool late = command.op != Op::post && queues_[queue].late;
  queues_[queue].late = false;
  const std::int64_t cost = command.op == Op::post ? sync(control.stream_write)
                            : late ? sync(control.stream_wait) + sync(control.stream_poll) / 2 +
                                         behind_host_reads(compiled_.streams[command.stream].device)
                                   : wait_for_what_is_there(command);
  after(cost, index, 0, {.what = What::memory_op_end, .of = slot});
}

// A signal that has been there for a while costs no more than a look, which is a round trip to host memory.
std::int64_t Simulation::wait_for_what_is_there(const CompiledCommand& command) const {
  const ControlLatency& control = machine_.control;
  const std::int64_t whole = sync(control.stream_wait);
  if (!control.stream_wait_there) return whole;
  const std::int64_t look =
      std::min(whole, sync(*control.stream_wait_there) +
                          behind_host_reads(compiled_.streams[command.stream].device));
  return std::max(look, whole - (now_ - views_[command.target].at));
}

void Simulation::end_memory_op(std::uint32_t slot) {
  const Transfer op = transfers_[slot];
  transfers_.give_back(slot);
  const CompiledCommand& command = compiled_.commands[op.command];
  if (recording()) span(op.command, op.turn, op.dispatched, op.dispatched, now_);
  if (command.op == Op::post) post(compiled_.posts[command.target], op.command, 1);
  complete_on_stream(op.command);
}

}  // namespace weft::sim::engine
