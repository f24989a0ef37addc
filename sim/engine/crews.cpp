// SPDX-License-Identifier: Apache-2.0
// Tiles: which CTAs work on which, and what follows from each.
//
// A crew is CTAs of one role that do the same number of tiles of the same range from the same
// moment. When crews end they are idle; idle neighbours at the same wave merge, and are split again
// where ranges, waits or shares differ. With shares by position, CTA c of n does tiles c, c + n,
// c + 2n, ...; as many of them as lie in one range are one step unless each tile posts.
#include <algorithm>

#include "sim/engine/simulation.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

void Simulation::advance(std::uint32_t index) {
  RoleRun& role = roles_[index];
  role.dirty = false;
  for (const std::uint32_t crew : role.parked) {
    if (crews_[crew].spin != kNone) stop_spin(crew);
  }
  role.idle.insert(role.idle.end(), role.parked.begin(), role.parked.end());
  role.parked.clear();
  role.begun = role.begun || !role.idle.empty();
  if (role.begun && !role.empty.empty()) complete_empty_ranges(index);
  if (role.idle.empty()) return;
  if (role.idle.size() > 1) merge_idle(role);
  if (!options_.effects.chunking) return advance_fluid(index);
  switch (program_.roles[role.role].order) {
    case TileOrder::one_cta_per_tile:
    case TileOrder::static_shares:
      return advance_by_position(index);
    case TileOrder::counter:
      return advance_by_counter(index);
    case TileOrder::ready_first:
      return advance_ready_first(index);
    case TileOrder::own_then_counter:
      return advance_own_then_counter(index);
  }
}

// Neighbours at the same wave become one crew again.
void Simulation::merge_idle(RoleRun& role) {
  std::sort(role.idle.begin(), role.idle.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Crew& x = crews_[a];
    const Crew& y = crews_[b];
    return x.wave != y.wave ? x.wave < y.wave : x.first < y.first;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < role.idle.size(); ++i) {
    Crew& last = crews_[role.idle[kept]];
    const Crew& next = crews_[role.idle[i]];
    if (last.wave == next.wave && last.batch == next.batch && last.since == next.since &&
        last.first + last.ctas == next.first) {
      last.ctas += next.ctas;
      drop_crew(role.idle[i]);
    } else {
      role.idle[++kept] = role.idle[i];
    }
  }
  role.idle.resize(kept + 1);
}

// The first `ctas` CTAs stay; the rest become a crew of their own, which is returned.
std::uint32_t Simulation::split(std::uint32_t index, std::int64_t ctas) {
  const std::uint32_t rest = crews_.take();
  Crew& crew = crews_[index];
  crews_[rest] = crew;
  crews_[rest].first += ctas;
  crews_[rest].ctas -= ctas;
  crew.ctas = ctas;
  return rest;
}

// No range is ready: the crew spins until any is.
void Simulation::park(std::uint32_t index, std::uint32_t crew) {
  RoleRun& role = roles_[index];
  crews_[crew].state = Crew::State::waiting;
  start_spin(crew);
  const bool first = role.parked.empty();
  role.parked.push_back(crew);
  if (!first) return;
  const Slice& ranges = program_.roles[role.role].ranges;
  for (std::uint32_t number = 0; number < ranges.count; ++number) {
    if (role.untaken[number] == 0) continue;
    wait_for_range(index, Waiter::Kind::role, role, number);
  }
}

bool Simulation::waits_satisfied(RoleRun& role, std::uint32_t number) {
  if (role.satisfied[number] != 0) return true;
  const Slice& waits = range_of(role, number).waits;
  const std::uint32_t device = compiled_.streams[runs_[role.run].stream].device;
  for (std::uint32_t w = 0; w < waits.count; ++w) {
    const SignalWait& wait = program_.waits[waits.first + w];
    if (views_[view_of(wait.signal, device)].value < wait.at_least) return false;
  }
  role.satisfied[number] = 1;
  return true;
}

// Registers at the first signal of the range that is still missing.
void Simulation::wait_for_range(std::uint32_t of, Waiter::Kind kind, const RoleRun& role,
                                std::uint32_t number) {
  const Slice& waits = range_of(role, number).waits;
  const std::uint32_t device = compiled_.streams[runs_[role.run].stream].device;
  for (std::uint32_t w = 0; w < waits.count; ++w) {
    const SignalWait& wait = program_.waits[waits.first + w];
    ViewState& view = views_[view_of(wait.signal, device)];
    if (view.value >= wait.at_least) continue;
    for (const Waiter& waiter : view.waiters) {
      if (waiter.kind == kind && waiter.of == of && waiter.at_least == wait.at_least) return;
    }
    view.waiters.push_back({.kind = kind, .of = of, .at_least = wait.at_least});
    return;
  }
}

void Simulation::take_range(std::uint32_t index, std::uint32_t number, std::int64_t first_tile,
                            std::int64_t tiles_per_cta) {
  Crew& crew = crews_[index];
  RoleRun& role = roles_[crew.role_run];
  if (recording()) cta_stall(crew, StallReason::signal, crew.since, now_);
  crew.since = now_;
  crew.range = number;
  crew.first_tile = first_tile;
  crew.tiles_per_cta = tiles_per_cta;
  if (waits_satisfied(role, number)) return work(index);
  std::int64_t ahead = 0;
  const Slice& waits = range_of(role, number).waits;
  for (std::uint32_t w = 0; w < waits.count && options_.effects.chunking; ++w) {
    const std::int64_t stages = program_.waits[waits.first + w].run_ahead_stages;
    ahead = w == 0 ? stages : std::min(ahead, stages);
  }
  if (ahead > 0) {
    crew.tiles_per_cta = std::min(tiles_per_cta, ahead);
    return work(index);
  }
  crew.state = Crew::State::waiting;
  wait_for_range(index, Waiter::Kind::crew, role, number);
  start_spin(index);
}

void Simulation::crew_signalled(std::uint32_t index) {
  Crew& crew = crews_[index];
  RoleRun& role = roles_[crew.role_run];
  if (!waits_satisfied(role, crew.range)) {
    return wait_for_range(index, Waiter::Kind::crew, role, crew.range);
  }
  if (recording()) {
    cta_stall(crew, StallReason::signal, crew.since, now_);
    see_waits(role, crew.range);
  }
  const bool done = crew.state == Crew::State::confirming;
  crew.since = now_;
  if (crew.spin != kNone) stop_spin(index);
  if (done) return finish_tiles(index);
  work(index);
}

void Simulation::see_waits(const RoleRun& role, std::uint32_t number) {
  const Slice& waits = range_of(role, number).waits;
  const CompiledStream& stream = compiled_.streams[runs_[role.run].stream];
  for (std::uint32_t w = 0; w < waits.count; ++w) {
    seen(runs_[role.run].command, view_of(program_.waits[waits.first + w].signal, stream.device));
  }
}

void Simulation::work(std::uint32_t index) {
  if (crews_[index].spin != kNone) stop_spin(index);
  Crew& crew = crews_[index];
  crew.state = Crew::State::working;
  crew.flow = kNone;
  const bool fluid = !options_.effects.chunking;
  const RoleRun& role = roles_[crew.role_run];
  const Role& its = program_.roles[role.role];
  const std::int64_t time =
      fluid ? fluid_time(crew) : tile_time(role, its.ranges.first + crew.range);
  const bool free = its.purpose == Purpose::communication && !options_.effects.transport;
  if (!free && start_crew_flow(index, time)) return;
  const Happening end{.what = What::crew_end, .of = index};
  if (free || time == 0) {
    soon_.push_back(end);
  } else {
    at(now_ + checked_multiply(time, crews_[index].tiles_per_cta), Phase::finish,
       runs_[role.run].command, static_cast<std::uint32_t>(crews_[index].first_tile), end);
  }
}

void Simulation::drop_crew(std::uint32_t index) {
  if (crews_[index].spin != kNone) stop_spin(index);
  crews_[index].state = Crew::State::gone;
  crews_.give_back(index);
}

// A tile's time alone: none for communication whose transport is free; slower on a slowed device.
std::int64_t Simulation::tile_time(const RoleRun& role, std::uint32_t range) const {
  const Effects& effects = options_.effects;
  if (!effects.transport && program_.roles[role.role].purpose == Purpose::communication) return 0;
  return slowed(program_.ranges[range].sm_time.ps(), role);
}

std::int64_t Simulation::slowed(std::int64_t time, const RoleRun& role) const {
  if (!options_.effects.imbalance) return time;
  const std::uint32_t device = compiled_.streams[runs_[role.run].stream].device;
  const std::int64_t speed = machine_.devices[device].speed_permille;
  return speed == 1000 ? time : divide_up(Int128{time} * 1000, speed);
}

// The crew's work is done; its tiles count once the range's waits have been seen.
void Simulation::crew_end(std::uint32_t index) {
  Crew& crew = crews_[index];
  if (crew.flow != kNone) {
    const ActivityId activity = flows_[crew.flow].activity;
    stop_flow(crew.flow);
    shares_.remove(activity);
    crew.flow = kNone;
  }
  if (recording()) cohort_span(crew);
  ++activities_;
  crew.since = now_;
  RoleRun& role = roles_[crew.role_run];
  if (waits_satisfied(role, crew.range)) return finish_tiles(index);
  crew.state = Crew::State::confirming;
  wait_for_range(index, Waiter::Kind::crew, role, crew.range);
  start_spin(index);
}

void Simulation::finish_tiles(std::uint32_t index) {
  if (!options_.effects.chunking) return finish_fluid(index);
  Crew& crew = crews_[index];
  crew.state = Crew::State::idle;
  const std::uint32_t role_index = crew.role_run;
  RoleRun& role = roles_[role_index];
  const std::int64_t tiles = crew.ctas * crew.tiles_per_cta;
  const std::uint32_t number = crew.range;
  crew.wave += crew.tiles_per_cta;
  role.left[number] -= tiles;
  role.tiles_done += tiles;
  role.idle.push_back(index);
  mark_role(role_index);
  follow_up(role, number, tiles);
}

// What follows from tiles of a range that are done: the trigger and the posts.
void Simulation::follow_up(const RoleRun& role, std::uint32_t number, std::int64_t tiles) {
  const std::uint32_t slot = role.run;
  const TileRange& range = range_of(role, number);
  const KernelRun& run = runs_[slot];
  const Kernel& kernel = program_.kernels[run.kernel];
  if (kernel.trigger_after_tiles && role.role == kernel.roles.first &&
      role.tiles_done >= *kernel.trigger_after_tiles) {
    trigger(slot);
  }
  if (range.posts.count == 0) return;
  if (!range.posts_per_tile && role.left[number] > 0) return;
  const std::uint64_t times = range.posts_per_tile ? static_cast<std::uint64_t>(tiles) : 1;
  const std::uint32_t command = run.command;
  // A part is counted and then its flag posted, each with a fence for the whole system.
  const std::int64_t fences = 2 * behind_host_reads(compiled_.streams[run.stream].device);
  for (std::uint32_t p = 0; p < range.posts.count; ++p) {
    post(program_.posts[range.posts.first + p], command, times, fences);
  }
}

void Simulation::retire(std::uint32_t index) {
  const Crew crew = crews_[index];
  if (recording()) cta_stall(crew, StallReason::signal, crew.since, now_);
  drop_crew(index);
  end_ctas(crew.role_run, crew.batch, crew.first, crew.ctas);
}

bool Simulation::steps_are_single(const RoleRun& role) const {
  const Kernel& kernel = program_.kernels[runs_[role.run].kernel];
  return kernel.trigger_after_tiles && role.role == kernel.roles.first;
}

// ---- records

void Simulation::cohort_span(const Crew& crew) {
  const RoleRun& role = roles_[crew.role_run];
  const KernelRun& run = runs_[role.run];
  const bool prologue = crew.state == Crew::State::prologue;
  emit(CohortSpan{.command = compiled_.commands[run.command].ref,
                  .rank = RankId(compiled_.streams[run.stream].rank),
                  .role = role.role,
                  .range = program_.roles[role.role].ranges.first + crew.range,
                  .first_tile = prologue ? 0 : crew.first_tile,
                  .tiles_per_cta = prologue ? 0 : crew.tiles_per_cta,
                  .ctas = static_cast<int>(crew.ctas),
                  .start = TimePoint::from_ps(crew.since),
                  .end = TimePoint::from_ps(now_)});
}

void Simulation::residency_span(const KernelRun& run, std::uint32_t role, std::uint32_t batch,
                                int ctas) {
  emit(ResidencySpan{.command = compiled_.commands[run.command].ref,
                     .rank = RankId(compiled_.streams[run.stream].rank),
                     .role = role,
                     .ctas = ctas,
                     .start = TimePoint::from_ps(batches_[batch].since),
                     .end = TimePoint::from_ps(now_)});
}

}  // namespace weft::sim::engine
