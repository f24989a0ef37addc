// SPDX-License-Identifier: Apache-2.0
// Launches: which kernel's CTAs go where and when, and when the kernel is over.
//
//   ready    = dispatch + launch latency
//   end      = the last CTA's end + drain
//
// The block scheduler takes the ready kernel of the highest stream priority, among equals the one
// that became ready first; while some of its CTAs find no room, kernels behind it wait.
#include <algorithm>

#include "sim/engine/simulation.hpp"
#include "sim/units/check.hpp"

namespace weft::sim::engine {

namespace {

Purpose purpose_of(const Program& program, const Kernel& kernel) {
  return kernel.gang ? Purpose::communication : program.roles[kernel.roles.first].purpose;
}

constexpr std::size_t kPurposes = 3;

}  // namespace

// A pool with all SMs of the rank's partition idle.
std::uint32_t Simulation::new_pool(const Rank& rank, bool own) {
  const std::uint32_t index = pools_.take();
  Pool& pool = pools_[index];
  pool.sms.reset(machine_.devices[rank.device.value()].sms.per_sm, partition_of(rank));
  pool.device = rank.device.value();
  pool.owner = kNone;
  pool.dirty = false;
  pool.own = own;
  pool.pending.clear();
  pool.classes.clear();
  pool.changed = false;
  pool.launching.clear();
  return index;
}

const std::vector<int>& Simulation::partition_of(const Rank& rank) const {
  return rank.sms_per_gpc.empty() ? machine_.devices[rank.device.value()].sms.sms_per_gpc
                                  : rank.sms_per_gpc;
}

SmPool Simulation::idle_pool(const Rank& rank) const {
  return {machine_.devices[rank.device.value()].sms.per_sm, partition_of(rank)};
}

// The pool that the kernel's CTAs go to: made when it is first needed.
std::uint32_t Simulation::pool_for(std::uint32_t stream, const Kernel& kernel) {
  const std::uint32_t rank = compiled_.streams[stream].rank;
  const Rank& its = machine_.ranks[rank];
  const bool exclusive = options_.effects.exclusive_engines;
  if (!exclusive && !options_.effects.residency) return new_pool(its, true);
  // Ranks that have the whole of a device share its pool.
  std::size_t slot = exclusive ? rank * kPurposes : rank;
  if (exclusive) {
    slot += static_cast<std::size_t>(purpose_of(program_, kernel));
  } else if (its.sms_per_gpc.empty()) {
    slot = machine_.ranks.size() + its.device.value();
  }
  if (rank_pool_.empty()) {
    rank_pool_.resize(machine_.ranks.size() * kPurposes + machine_.devices.size(), kNone);
  }
  if (rank_pool_[slot] == kNone) rank_pool_[slot] = new_pool(its, false);
  return rank_pool_[slot];
}

void Simulation::launch(std::uint32_t index, std::uint32_t queue) {
  const CompiledCommand& command = compiled_.commands[index];
  const Kernel& kernel = program_.kernels[command.target];
  StreamState& stream = streams_[command.stream];
  const std::uint32_t slot = runs_.take();
  KernelRun& run = runs_[slot];
  run.command = index;
  run.kernel = command.target;
  run.stream = command.stream;
  run.ctas = kernel.ctas;
  run.placed = 0;
  run.ended = 0;
  run.held = false;
  run.successor = kNone;
  run.gang = kNone;
  run.behind = kNone;
  run.followers.clear();
  run.turn = stream.turn;
  run.dispatched = now_;
  run.first_start = -1;
  run.roles.clear();
  run.batches.clear();
  if (!kernel.gang) make_roles(slot);
  if (!kernel.gang && !options_.effects.chunking) make_fluid(slot);
  if (command.programmatic && stream.last_run != kNone) {
    run.held = command.waits_for_predecessor;
    if (run.held) runs_[stream.last_run].successor = slot;
  }
  if (recording()) {
    const std::int64_t head = stall_before_dispatch(index, run.turn, queues_[queue].head_since);
    stall(index, StallReason::hardware_queue, head, now_);
  }
  begin_on_stream(command);
  stream.last_run = slot;
  const std::uint32_t pool = pool_for(command.stream, kernel);
  runs_[slot].pool = pool;
  const std::int64_t latency =
      sync(machine_.control.launch + launch_delay_[compiled_.streams[command.stream].device]);
  runs_[slot].ready = now_ + latency;
  pools_[pool].launching.push_back(slot);
  after(latency, index, 0, {.what = What::kernel_ready, .of = slot});
}

void Simulation::make_roles(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  const Kernel& kernel = program_.kernels[run.kernel];
  std::int64_t next_cta = 0;
  bool warp_groups = false;
  for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
    const std::uint32_t index = roles_.take();
    run.roles.push_back(index);
    const std::uint32_t role_index = kernel.roles.first + r;
    const Role& its = program_.roles[role_index];
    RoleRun& role = roles_[index];
    role.run = slot;
    role.role = role_index;
    role.tiles = compiled_.role_tiles[role_index];
    role.next_tile = 0;
    role.tiles_taken = 0;
    role.tiles_done = 0;
    role.dirty = false;
    role.idle.clear();
    role.batches.clear();
    role.fluid_crew = kNone;
    role.parked.clear();
    role.begun = false;
    role.gone = 0;
    role.empty.clear();
    role.left.clear();
    role.untaken.clear();
    role.satisfied.clear();
    for (std::uint32_t k = 0; k < its.ranges.count; ++k) {
      const TileRange& range = program_.ranges[its.ranges.first + k];
      role.left.push_back(range.tiles);
      if (range.tiles == 0 && range.posts.count > 0 && !range.posts_per_tile) {
        role.empty.push_back(k);
      }
    }
    role.satisfied.resize(its.ranges.count, 0);
    if (its.order == TileOrder::ready_first) role.untaken = role.left;
    if (its.scope == Role::Scope::ctas) {
      role.ctas = its.order == TileOrder::one_cta_per_tile ? role.tiles : its.ctas;
      role.first_cta = next_cta;
      next_cta += role.ctas;
    } else {
      role.first_cta = 0;
      role.ctas = kNone;
      warp_groups = true;
    }
  }
  if (run.ctas == 0) run.ctas = static_cast<int>(next_cta);
  for (const std::uint32_t index : run.roles) {
    RoleRun& role = roles_[index];
    if (role.ctas == kNone) role.ctas = run.ctas;
    const bool own_first = program_.roles[role.role].order == TileOrder::own_then_counter;
    if (own_first) role.next_tile = std::min<std::int64_t>(role.ctas, role.tiles);
  }
  run.single_role = !warp_groups || run.roles.size() == 1;
  if (run.single_role) return;
  run.roles_left.assign(static_cast<std::size_t>(run.ctas), 0);
  for (const std::uint32_t index : run.roles) {
    const RoleRun& role = roles_[index];
    for (std::int64_t c = 0; c < role.ctas; ++c) {
      ++run.roles_left[static_cast<std::size_t>(role.first_cta + c)];
    }
  }
}

void Simulation::kernel_ready(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  Pool& pool = pools_[run.pool];
  pool.launching.erase(std::find(pool.launching.begin(), pool.launching.end(), slot));
  if (held_by_race(slot)) return;
  queue_with_followers(slot);
}

// Those that lost a race to the run become ready with it and go behind it.
void Simulation::queue_with_followers(std::uint32_t slot) {
  runs_[slot].ready = now_;
  queue_for_sms(slot);
  for (std::size_t i = 0; i < runs_[slot].followers.size(); ++i) {
    queue_with_followers(runs_[slot].followers[i]);
  }
  runs_[slot].followers.clear();
}

// The run is ready: it waits for SMs behind those that go first.
void Simulation::queue_for_sms(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  Pool& pool = pools_[run.pool];
  if (recording()) stall(run.command, StallReason::launch, run.dispatched, now_);
  if (run.ctas == 0) {
    run.first_start = now_;
    after(sync(machine_.control.kernel_drain), run.command, 0,
          {.what = What::kernel_complete, .of = slot});
    return;
  }
  auto goes_before = [&](std::uint32_t other) {
    const KernelRun& its = runs_[other];
    if (run.behind == other || its.behind == slot) return run.behind == other;
    const int mine = compiled_.streams[run.stream].priority;
    const int theirs = compiled_.streams[its.stream].priority;
    if (mine != theirs) return theirs > mine;
    if (its.ready != run.ready) return its.ready < run.ready;
    return key(0, Phase::start, its.command, 0) < key(0, Phase::start, run.command, 0);
  };
  auto place = pool.pending.begin();
  while (place != pool.pending.end() && goes_before(*place)) ++place;
  pool.pending.insert(place, slot);
  mark_pool(run.pool);
}

void Simulation::place(std::uint32_t index) {
  pools_[index].dirty = false;
  const bool exclusive = options_.effects.exclusive_engines;
  while (!pools_[index].pending.empty()) {
    Pool& pool = pools_[index];
    const std::uint32_t slot = pool.pending.front();
    if (exclusive && pool.owner != kNone && pool.owner != slot) return;
    if (exclusive) pool.owner = slot;
    place_run(slot);
    if (runs_[slot].placed < runs_[slot].ctas) return;
    pools_[index].pending.erase(pools_[index].pending.begin());
  }
}

void Simulation::place_run(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  const Kernel& kernel = program_.kernels[run.kernel];
  const std::uint32_t batch = batches_.take();
  const int placed =
      pools_[run.pool].sms.place(kernel.footprint, kernel.cluster, run.ctas - run.placed, batch);
  if (placed == 0) return batches_.give_back(batch);
  batches_[batch] = {.run = slot, .ctas = placed, .since = now_};
  if (shares_sms_) residents_changed(run.pool);
  if (run.first_start < 0) {
    run.first_start = now_;
    if (recording()) stall(run.command, StallReason::no_sm, run.ready, now_);
  }
  const int first = run.placed;
  run.placed += placed;
  if (run.placed == run.ctas) {
    const std::uint32_t resident = compiled_.commands[run.command].extra;
    if (resident != kNone) reach(resident, run.command);
  }
  if (kernel.gang) {
    run.batches.push_back(batch);
    if (run.placed == run.ctas) join_gang(slot);
    return;
  }
  for (const std::uint32_t role : run.roles) start_batch(role, batch, first, placed);
}

// The CTAs [first, first + count) of the grid are resident: the role's part of them is a crew.
void Simulation::start_batch(std::uint32_t role_index, std::uint32_t batch, std::int64_t first,
                             std::int64_t count) {
  const RoleRun& role = roles_[role_index];
  const std::int64_t begin = std::max(first, role.first_cta);
  const std::int64_t end = std::min(first + count, role.first_cta + role.ctas);
  if (begin >= end) return;
  if (!options_.effects.chunking) {
    return add_fluid(role_index, batch, begin - role.first_cta, end - begin);
  }
  const std::uint32_t crew = crews_.take();
  crews_[crew] = {.role_run = role_index,
                  .batch = batch,
                  .first = begin - role.first_cta,
                  .ctas = end - begin,
                  .since = now_};
  const KernelRun& run = runs_[role.run];
  if (recording()) cta_stall(crews_[crew], StallReason::no_sm, run.ready, now_);
  const std::int64_t prologue = program_.kernels[run.kernel].prologue.ps();
  const bool free = !options_.effects.transport &&
                    program_.roles[roles_[role_index].role].purpose == Purpose::communication;
  if (prologue == 0 || free) return prologue_end(crew);
  crews_[crew].state = Crew::State::prologue;
  after(prologue, run.command, static_cast<std::uint32_t>(begin),
        {.what = What::prologue_end, .of = crew});
}

void Simulation::prologue_end(std::uint32_t index) {
  Crew& crew = crews_[index];
  KernelRun& run = runs_[roles_[crew.role_run].run];
  if (recording() && now_ > crew.since) cohort_span(crew);
  crew.since = now_;
  crew.state = Crew::State::idle;
  if (run.held) {
    run.held_crews.push_back(index);
    return;
  }
  roles_[crew.role_run].idle.push_back(index);
  mark_role(crew.role_run);
}

// A programmatic launch's predecessor is complete: its crews may work.
void Simulation::release_held(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  run.held = false;
  for (const std::uint32_t index : run.held_crews) {
    Crew& crew = crews_[index];
    if (recording()) cta_stall(crew, StallReason::stream_order, crew.since, now_);
    crew.since = now_;
    roles_[crew.role_run].idle.push_back(index);
    mark_role(crew.role_run);
  }
  run.held_crews.clear();
}

// CTAs [first, first + ctas) of a role have done all of its tiles.
void Simulation::end_ctas(std::uint32_t role_index, std::uint32_t batch, std::int64_t first,
                          std::int64_t ctas) {
  const RoleRun& role = roles_[role_index];
  KernelRun& run = runs_[role.run];
  if (recording()) residency_span(run, role.role, batch, static_cast<int>(ctas));
  if (run.single_role) return end_of_grid(role.run, batch, static_cast<int>(ctas));
  int over = 0;
  for (std::int64_t c = 0; c < ctas; ++c) {
    const auto cta = static_cast<std::size_t>(role.first_cta + first + c);
    if (--run.roles_left[cta] == 0) ++over;
  }
  if (over > 0) end_of_grid(role.run, batch, over);
}

void Simulation::end_of_grid(std::uint32_t slot, std::uint32_t batch, int ctas) {
  KernelRun& run = runs_[slot];
  const Kernel& kernel = program_.kernels[run.kernel];
  Pool& pool = pools_[run.pool];
  pool.sms.release(kernel.footprint, kernel.cluster, batch, ctas);
  if (shares_sms_) residents_changed(run.pool);
  if ((batches_[batch].ctas -= ctas) == 0) batches_.give_back(batch);
  run.ended += ctas;
  if (run.ended == run.ctas) {
    if (pool.owner == slot) pool.owner = kNone;
    trigger(slot);
    after(sync(machine_.control.kernel_drain), run.command, 0,
          {.what = What::kernel_complete, .of = slot});
  }
  if (!pool.pending.empty()) mark_pool(run.pool);
}

void Simulation::trigger(std::uint32_t slot) {
  const KernelRun& run = runs_[slot];
  StreamState& stream = streams_[run.stream];
  if (stream.last_run != slot || stream.last_triggered) return;
  stream.last_triggered = true;
  stream.turn = now_;
  mark_queue(compiled_.streams[run.stream].queue);
}

void Simulation::complete_kernel(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  if (recording()) span(run.command, run.turn, run.ready, run.first_start, now_);
  if (run.successor != kNone) release_held(run.successor);
  for (const std::uint32_t role : run.roles) roles_.give_back(role);
  if (pools_[run.pool].own) pools_.give_back(run.pool);
  const std::uint32_t command = run.command;
  runs_.give_back(slot);
  complete_on_stream(command);
}

}  // namespace weft::sim::engine
