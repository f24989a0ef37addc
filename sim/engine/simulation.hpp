// SPDX-License-Identifier: Apache-2.0
// One run, from its first call to its last completion.
//
// At each moment: everything that happens then is taken from the queue; crews whose work ended take
// new work and hardware queues dispatch, until nothing more follows from it; then free engines and
// free SMs are given away, in the order of the tie-break; once all is quiet the rates are solved.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/run_state.hpp"
#include "sim/run.hpp"

namespace weft::sim::engine {

class Simulation : private RunState {
 public:
  /// Takes its memory from `lender`, which has it again after result().
  Simulation(const Machine& machine, const Program& program, const RunOptions& options,
             std::span<RecordSink* const> sinks, RunState* lender = nullptr);

  /// Goes to the next moment at which something happens; false when nothing is left.
  bool step();
  [[nodiscard]] TimePoint now() const { return TimePoint::from_ps(now_); }
  /// The result, once step() has said false; throws DeadlockError if commands are left.
  [[nodiscard]] RunResult result();

 private:
  friend class DeadlockReport;
  using What = Happening::What;

  // A share's weight counts thousandths of a CTA.
  static constexpr std::uint64_t kCtaWeight = 1000;

  // simulation.cpp: time
  void happen(const Happening& happening);
  void settle();
  EventHandle at(std::int64_t time, Phase phase, std::uint32_t command, std::uint32_t range,
                 const Happening& happening);
  void after(std::int64_t delay, std::uint32_t command, std::uint32_t range,
             const Happening& happening);
  [[nodiscard]] EventKey key(std::int64_t time, Phase phase, std::uint32_t command,
                             std::uint32_t range) const;
  [[nodiscard]] std::int64_t sync(Duration d) const {
    return options_.effects.launch_and_sync ? d.ps() : 0;
  }

  // host.cpp: host threads, hardware queues, streams, events
  void start_threads();
  void activate(std::uint32_t segment, std::int64_t base);
  void try_activate(std::uint32_t segment);
  void mark_queue(std::uint32_t queue);
  void wake_queue(std::uint32_t queue, std::int64_t time);
  void dispatch(std::uint32_t queue);
  [[nodiscard]] std::uint32_t head(std::uint32_t queue, std::uint32_t& lane);
  void fetch_ahead(std::uint32_t lane) const;
  [[nodiscard]] bool stays_behind(std::uint32_t queue, std::uint32_t command);
  [[nodiscard]] std::int64_t issued(const CompiledCommand& command) const;
  bool dispatch_one(std::uint32_t queue, std::uint32_t index);
  bool pass_event(std::uint32_t queue, const CompiledCommand& command);
  void reach(std::uint32_t record, std::uint32_t command);
  void begin_on_stream(const CompiledCommand& command);
  void complete_on_stream(std::uint32_t command);
  void end_instant(std::uint32_t queue, std::uint32_t index, StallReason reason);
  bool pass_signal(std::uint32_t queue, std::uint32_t command);
  void start_memory_op(std::uint32_t command, std::uint32_t queue);
  [[nodiscard]] std::int64_t wait_for_what_is_there(const CompiledCommand& command) const;
  void end_memory_op(std::uint32_t slot);
  void host_span(CommandRef ref, std::int64_t begin, std::int64_t start, std::int64_t end);
  [[nodiscard]] bool all_threads_done() const {
    return segments_active_ == compiled_.segments.size();
  }

  // transfers.cpp: copies, messages, engines
  void start_transfer(std::uint32_t command, std::uint32_t queue);
  void request(std::uint32_t server, std::uint32_t transfer);
  void grant(std::uint32_t server);
  void begin_bytes(std::uint32_t transfer);
  void end_bytes(std::uint32_t transfer);
  void end_transfer(std::uint32_t transfer);

  // kernels.cpp: launches, residency, ends
  void launch(std::uint32_t command, std::uint32_t queue);
  void kernel_ready(std::uint32_t run);
  void queue_with_followers(std::uint32_t run);
  void queue_for_sms(std::uint32_t run);
  void place(std::uint32_t pool);
  void place_run(std::uint32_t run);
  void make_roles(std::uint32_t run);
  void mark_pool(std::uint32_t pool);
  void start_batch(std::uint32_t role_run, std::uint32_t batch, std::int64_t first,
                   std::int64_t count);
  void prologue_end(std::uint32_t crew);
  void release_held(std::uint32_t run);
  void end_ctas(std::uint32_t role_run, std::uint32_t batch, std::int64_t first, std::int64_t ctas);
  void end_of_grid(std::uint32_t run, std::uint32_t batch, int ctas);
  void complete_kernel(std::uint32_t run);
  void trigger(std::uint32_t run);
  [[nodiscard]] std::uint32_t pool_for(std::uint32_t stream, const Kernel& kernel);
  [[nodiscard]] std::uint32_t new_pool(const Rank& rank, bool own);
  [[nodiscard]] SmPool idle_pool(const Rank& rank) const;
  [[nodiscard]] const std::vector<int>& partition_of(const Rank& rank) const;

  // races.cpp
  bool held_by_race(std::uint32_t run);
  [[nodiscard]] bool both_fit(std::uint32_t first, std::uint32_t second) const;

  // crews.cpp: tiles
  void mark_role(std::uint32_t role_run);
  void advance(std::uint32_t role_run);
  void advance_by_position(std::uint32_t role_run);
  void advance_by_counter(std::uint32_t role_run);
  void advance_own_then_counter(std::uint32_t role_run);
  void advance_ready_first(std::uint32_t role_run);
  std::uint32_t split(std::uint32_t crew, std::int64_t ctas);
  [[nodiscard]] bool waits_satisfied(RoleRun& role, std::uint32_t range);
  void take_range(std::uint32_t crew, std::uint32_t range, std::int64_t first_tile,
                  std::int64_t tiles_per_cta);
  void work(std::uint32_t crew);
  void crew_end(std::uint32_t crew);
  void finish_tiles(std::uint32_t crew);
  void retire(std::uint32_t crew);
  void follow_up(const RoleRun& role, std::uint32_t range, std::int64_t tiles);
  [[nodiscard]] std::int64_t slowed(std::int64_t time, const RoleRun& role) const;
  [[nodiscard]] std::uint32_t uses_of(const RoleRun& role, std::uint32_t range) const {
    return compiled_.range_uses.empty()
               ? kNone
               : compiled_.range_uses[program_.roles[role.role].ranges.first + range];
  }
  void merge_idle(RoleRun& role);
  void park(std::uint32_t role_run, std::uint32_t crew);
  void wait_for_range(std::uint32_t of, Waiter::Kind kind, const RoleRun& role,
                      std::uint32_t range);
  void crew_signalled(std::uint32_t crew);
  void see_waits(const RoleRun& role, std::uint32_t range);
  [[nodiscard]] std::int64_t tile_time(const RoleRun& role, std::uint32_t range) const;
  void drop_crew(std::uint32_t crew);
  [[nodiscard]] bool steps_are_single(const RoleRun& role) const;
  [[nodiscard]] const TileRange& range_of(const RoleRun& role, std::uint32_t range) const;
  struct RangeEnd {
    std::uint32_t range;  ///< of its role
    std::int64_t end;     ///< the tile after its last
  };
  /// The range that a tile of the role is in.
  [[nodiscard]] RangeEnd range_holding(const RoleRun& role, std::int64_t tile) const;

  // empty_ranges.cpp: ranges without a tile
  void complete_empty_ranges(std::uint32_t role_run);
  void leave(std::uint32_t role_run, std::uint32_t crew);

  // demands.cpp: what work asks of shared resources
  [[nodiscard]] Demand crew_demand(const Crew& crew);
  std::uint64_t add_pipes(const Crew& crew, const SmDemand& demand, std::int64_t time,
                          const Demand& so_far);
  bool start_crew_flow(std::uint32_t crew, std::int64_t time);
  void rebind(std::uint32_t crew);
  void attach(std::uint32_t flow, ActivityId activity);
  void start_spin(std::uint32_t crew);
  void stop_spin(std::uint32_t crew);

  // sm_share.cpp
  void find_peaks();
  [[nodiscard]] std::array<int, kPipes> kernel_peak(const Kernel& kernel) const;
  [[nodiscard]] const SmClass* class_of(std::uint32_t batch) const;
  void residents_changed(std::uint32_t pool);
  void reclassify(std::uint32_t pool);
  [[nodiscard]] std::uint32_t take_pipe(int sms);
  void part_company(std::uint32_t pool, std::vector<SmClass>& classes);
  void move_ctas(std::uint32_t from, std::uint32_t to, int count);
  [[nodiscard]] std::int64_t border_of(std::uint32_t batch, int count) const;
  std::int64_t move_fluid(RoleRun& role, std::uint32_t from, std::uint32_t to, std::int64_t count);
  std::uint32_t split_anywhere(std::uint32_t crew, std::int64_t ctas);
  void rebind_batches(const std::vector<std::uint32_t>& batches);

  // interference.cpp
  void find_interference();
  [[nodiscard]] std::int64_t behind_host_reads(std::uint32_t device) const;
  [[nodiscard]] bool may_slow(const KernelRun& run) const;
  [[nodiscard]] bool pushes(const Crew& crew, const Interference& term) const;
  [[nodiscard]] std::int64_t pushing(std::uint32_t device, const Interference& term) const;
  [[nodiscard]] bool sends(const Crew& crew) const;
  [[nodiscard]] std::uint32_t device_of(const Crew& crew) const;
  bool update_slowdowns();
  void apply_slowdown(std::uint32_t crew, bool again = false);

  // fluid.cpp: chunking off
  void make_fluid(std::uint32_t run);
  void add_fluid(std::uint32_t role_run, std::uint32_t batch, std::int64_t first,
                 std::int64_t ctas);
  void advance_fluid(std::uint32_t role_run);
  [[nodiscard]] std::int64_t fluid_time(const Crew& crew) const;
  [[nodiscard]] ProgressRate fluid_cap(const Crew& crew, std::int64_t resident) const;

  void finish_fluid(std::uint32_t crew);
  void retire_fluid(std::uint32_t crew);

  // gangs.cpp
  void join_gang(std::uint32_t run);
  void gang_start(std::uint32_t gang_run);
  void gang_progress(std::uint32_t gang_run);
  void end_gang(std::uint32_t gang_run);
  [[nodiscard]] Demand gang_demand(const GangRun& gang_run);
  void rebind_gang(std::uint32_t gang_run);
  void post_chunk(const GangRun& gang_run, int chunk);
  [[nodiscard]] std::uint32_t poster_of(const GangRun& gang_run, SignalId signal) const;
  [[nodiscard]] std::uint64_t rest_after(const Gang& gang, int chunk) const;
  [[nodiscard]] std::uint32_t member_of(const KernelRun& run) const;

  // signals.cpp
  /// `later`: what it takes besides its way.
  void post(const CompiledPost& post, std::uint32_t command, std::uint64_t times,
            std::int64_t later = 0);
  void post(const SignalPost& post, std::uint32_t command, std::uint64_t times,
            std::int64_t later = 0);
  void arrive(std::uint32_t view, SignalPost::Kind kind, std::uint64_t value, std::uint32_t poster);
  void seen(std::uint32_t command, std::uint32_t view);
  [[nodiscard]] std::uint32_t view_of(SignalId signal, std::uint32_t device) const;

  // flows.cpp: shared progress
  std::uint32_t start_flow(Flow::Owner owner, std::uint32_t of, ActivityId activity,
                           std::uint64_t amount, const EventKey& key);
  void stop_flow(std::uint32_t flow);
  void schedule_flow(Flow& flow);
  void solve();
  void follow_rates();
  [[nodiscard]] std::optional<StallReason> limit_of(ActivityId activity) const;

  // deadlock.cpp
  [[nodiscard]] std::string describe_deadlock() const;

  // Records
  template <class Record>
  void emit(const Record& record) {
    for (RecordSink* sink : sinks_) sink->on(record);
  }
  [[nodiscard]] bool recording() const { return !sinks_.empty(); }
  void stall(std::uint32_t command, StallReason reason, std::int64_t from, std::int64_t to) {
    if (to > from) emit_stall(command, reason, from, to);
  }
  void cta_stall(const Crew& crew, StallReason reason, std::int64_t from, std::int64_t to) {
    if (to > from) emit_cta_stall(crew, reason, from, to);
  }
  void emit_stall(std::uint32_t command, StallReason reason, std::int64_t from, std::int64_t to);
  void emit_cta_stall(const Crew& crew, StallReason reason, std::int64_t from, std::int64_t to);
  void span(std::uint32_t command, std::int64_t turn, std::int64_t ready, std::int64_t start,
            std::int64_t end);
  std::int64_t stall_before_dispatch(std::uint32_t command, std::int64_t turn,
                                     std::int64_t head_since);
  [[nodiscard]] std::uint32_t command_of(const Flow& flow) const;
  void tell_pipes(const Flow& flow);
  void tell_pipes(PipeShare share, std::uint32_t batch, const SmDemand& demand, std::int64_t ctas);
  void tell_spin(const Crew& crew, int ctas);
  void rate_change(const Flow& flow, double units_per_second, std::optional<StallReason> limit);
  void cohort_span(const Crew& crew);
  void residency_span(const KernelRun& run, std::uint32_t role, std::uint32_t batch, int ctas);
  void gang_stalls(const GangRun& gang_run);
  void gang_spans(const GangRun& gang_run, const KernelRun& run);

  const Machine& machine_;
  const Program& program_;
  RunOptions options_;
  std::span<RecordSink* const> sinks_;
  RunState* lender_ = nullptr;
};

// What every event goes through.

inline EventKey Simulation::key(std::int64_t time, Phase phase, std::uint32_t command,
                                std::uint32_t range) const {
  if (command == kNone) {
    return {TimePoint::from_ps(time), {.phase = phase, .command = command, .range = range}};
  }
  const std::uint64_t part = compiled_.streams[compiled_.commands[command].stream].key_part;
  return {TimePoint::from_ps(time), phase, part, command, range};
}

inline EventHandle Simulation::at(std::int64_t time, Phase phase, std::uint32_t command,
                                  std::uint32_t range, const Happening& happening) {
  return queue_.schedule(key(time, phase, command, range), happening);
}

inline void Simulation::after(std::int64_t delay, std::uint32_t command, std::uint32_t range,
                              const Happening& happening) {
  if (delay == 0) {
    soon_.push_back(happening);
  } else {
    at(now_ + delay, Phase::finish, command, range, happening);
  }
}

inline std::int64_t Simulation::issued(const CompiledCommand& command) const {
  return segments_[command.segment].base + command.issue;
}

inline const TileRange& Simulation::range_of(const RoleRun& role, std::uint32_t range) const {
  return program_.ranges[program_.roles[role.role].ranges.first + range];
}

inline void Simulation::mark_queue(std::uint32_t queue) {
  if (queues_[queue].dirty) return;
  queues_[queue].dirty = true;
  dirty_queues_.push_back(queue);
}

inline void Simulation::mark_role(std::uint32_t index) {
  RoleRun& role = roles_[index];
  if (role.dirty) return;
  role.dirty = true;
  dirty_roles_.push_back(index);
}

inline void Simulation::mark_pool(std::uint32_t index) {
  Pool& pool = pools_[index];
  if (pool.dirty) return;
  pool.dirty = true;
  dirty_pools_.push_back(index);
}

}  // namespace weft::sim::engine
