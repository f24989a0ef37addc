// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulation.hpp"

#include <algorithm>
#include <utility>

#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

RunState borrowed(RunState* lender) {
  RunState state;
  if (lender != nullptr) {
    state = std::move(*lender);
    state.clear();
  }
  return state;
}

}  // namespace

Simulation::Simulation(const Machine& machine, const Program& program, const RunOptions& options,
                       std::span<RecordSink* const> sinks, RunState* lender)
    : RunState(borrowed(lender)),
      machine_(machine),
      program_(program),
      options_(options),
      sinks_(sinks),
      lender_(lender) {
  compile(machine, program, options.effects, compiled_);
  for (const SharedResource& resource : compiled_.resources) {
    // What is not modelled keeps its number and is never used.
    shares_.add_resource(std::max<std::uint64_t>(resource.capacity, 1));
  }
  segments_.resize(compiled_.segments.size());
  segment_next_.assign(compiled_.segments.size(), kNone);
  records_.resize(compiled_.records);
  streams_.resize(compiled_.streams.size());
  queues_.resize(compiled_.queues.size());
  lane_position_.assign(compiled_.lanes.size(), 0);
  servers_.resize(compiled_.server_concurrency.size());
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    servers_[i].free = compiled_.server_concurrency[i];
  }
  parked_.resize(compiled_.shapes.size());
  views_.resize(compiled_.views.size());
  for (std::size_t i = 0; i < views_.size(); ++i) {
    views_[i].value = program.signals[compiled_.views[i].signal].initial;
  }
  gang_open_.resize(program.gangs.size());
  find_peaks();
  find_interference();
  start_threads();
  settle();
}

bool Simulation::step() {
  if (queue_.empty()) return false;
  now_ = queue_.next_time().ps();
  settle();
  return true;
}

void Simulation::settle() {
  std::size_t done = 0;
  const TimePoint moment = TimePoint::from_ps(now_);
  for (;;) {
    if (done < soon_.size()) {
      const Happening happening = soon_[done++];
      ++events_;
      happen(happening);
      continue;
    }
    soon_.clear();
    done = 0;
    if (const auto happening = queue_.pop_at(moment)) {
      ++events_;
      happen(*happening);
      continue;
    }
    if (!dirty_roles_.empty()) {
      const std::uint32_t role = dirty_roles_.back();
      dirty_roles_.pop_back();
      advance(role);
      continue;
    }
    if (!dirty_queues_.empty()) {
      const std::uint32_t queue = dirty_queues_.back();
      dirty_queues_.pop_back();
      dispatch(queue);
      continue;
    }
    if (!dirty_servers_.empty()) {
      const std::uint32_t server = dirty_servers_.back();
      dirty_servers_.pop_back();
      grant(server);
      continue;
    }
    if (!dirty_pools_.empty()) {
      const std::uint32_t pool = dirty_pools_.back();
      dirty_pools_.pop_back();
      place(pool);
      continue;
    }
    break;
  }
  for (const std::uint32_t pool : changed_pools_) reclassify(pool);
  changed_pools_.clear();
  solve();
}

void Simulation::happen(const Happening& happening) {
  switch (happening.what) {
    case What::queue_wake:
      // It may have begun to wait for something else meanwhile, and still does.
      mark_queue(happening.of);
      return;
    case What::kernel_ready:
      return kernel_ready(happening.of);
    case What::kernel_complete:
      return complete_kernel(happening.of);
    case What::prologue_end:
      return prologue_end(happening.of);
    case What::crew_end:
      return crew_end(happening.of);
    case What::flow_end: {
      const Flow& flow = flows_[happening.of];
      if (flow.owner == Flow::Owner::transfer) return end_bytes(flow.of);
      if (flow.owner == Flow::Owner::crew) return crew_end(flow.of);
      return gang_progress(flow.of);
    }
    case What::transfer_setup_end:
      return begin_bytes(happening.of);
    case What::transfer_arrival:
      return end_transfer(happening.of);
    case What::memory_op_end:
      return end_memory_op(happening.of);
    case What::message_arrival:
      return post(compiled_.posts[compiled_.commands[happening.of].extra], happening.of, 1);
    case What::signal_arrival: {
      const Arrival arrival = arrivals_[happening.of];
      arrivals_.give_back(happening.of);
      return arrive(arrival.view, arrival.kind, arrival.value, arrival.poster);
    }
    case What::gang_start:
      return gang_start(happening.of);
  }
}

RunResult Simulation::result() {
  WEFT_CHECK(queue_.empty(), "a run is asked for its result before its end");
  const std::uint64_t calls = compiled_.commands.size();
  if (commands_done_ != calls || !all_threads_done()) {
    throw DeadlockError(describe_deadlock());
  }
  std::sort(races_.begin(), races_.end(),
            [](const RaceMet& a, const RaceMet& b) { return a.kind < b.kind; });
  RunResult result{.end = TimePoint::from_ps(end_),
                   .activities = activities_,
                   .events = events_,
                   .races = races_};
  // Only a run that left nothing behind gives its memory on.
  if (lender_ != nullptr) *lender_ = std::move(static_cast<RunState&>(*this));
  return result;
}

// ---- records

void Simulation::emit_stall(std::uint32_t command, StallReason reason, std::int64_t from,
                            std::int64_t to) {
  emit(Stall{.command = compiled_.commands[command].ref,
             .reason = reason,
             .start = TimePoint::from_ps(from),
             .end = TimePoint::from_ps(to)});
}

void Simulation::emit_cta_stall(const Crew& crew, StallReason reason, std::int64_t from,
                                std::int64_t to) {
  const RoleRun& role = roles_[crew.role_run];
  emit(Stall{.command = compiled_.commands[runs_[role.run].command].ref,
             .role = role.role,
             .reason = reason,
             .start = TimePoint::from_ps(from),
             .end = TimePoint::from_ps(to),
             .ctas = static_cast<int>(crew.ctas)});
}

void Simulation::span(std::uint32_t command, std::int64_t turn, std::int64_t ready,
                      std::int64_t start, std::int64_t end) {
  const CompiledCommand& its = compiled_.commands[command];
  emit(CommandSpan{.command = its.ref,
                   .stream = StreamId(its.stream),
                   .issued = TimePoint::from_ps(issued(its)),
                   .turn = TimePoint::from_ps(turn),
                   .ready = TimePoint::from_ps(ready),
                   .start = TimePoint::from_ps(start),
                   .end = TimePoint::from_ps(end)});
}

// Host and hardware queue, from the stream's turn on; returns where they end.
std::int64_t Simulation::stall_before_dispatch(std::uint32_t command, std::int64_t turn,
                                               std::int64_t head_since) {
  const std::int64_t issue = std::max(turn, issued(compiled_.commands[command]));
  stall(command, StallReason::host, turn, issue);
  const std::int64_t head = std::max(issue, head_since);
  stall(command, StallReason::hardware_queue, issue, head);
  return head;
}

}  // namespace weft::sim::engine
