// SPDX-License-Identifier: Apache-2.0
// Chunking off: a range takes its fluid time, however many tiles and waves it has.
//
//   rate of a range = (CTAs resident / CTAs of the role) / fluid time
//
// A role is one crew that walks its ranges in order, waits and posts included; there is no
// prologue. A grid that an idle device cannot hold at once counts as the part that it can. A
// range's bytes are moved evenly over its time.
#include <algorithm>
#include <numeric>

#include "sim/engine/simulation.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

// Cuts a grid of one group of CTAs to what an idle partition holds.
void Simulation::make_fluid(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  if (run.roles.size() != 1) return;
  const Kernel& kernel = program_.kernels[run.kernel];
  const Rank& rank = machine_.ranks[compiled_.streams[run.stream].rank];
  const int room = idle_pool(rank).room(kernel.footprint, kernel.cluster, run.ctas);
  if (room > 0) run.ctas = std::min(run.ctas, room);
  roles_[run.roles.front()].ctas = run.ctas;
}

void Simulation::add_fluid(std::uint32_t role_index, std::uint32_t batch, std::int64_t first,
                           std::int64_t ctas) {
  RoleRun& role = roles_[role_index];
  const bool fresh = role.batches.empty();
  role.batches.emplace_back(batch, ctas);
  if (!fresh && role.fluid_crew == kNone) return end_ctas(role_index, batch, first, ctas);
  if (fresh) {
    const std::uint32_t crew = crews_.take();
    crews_[crew] = {.role_run = role_index, .batch = batch, .ctas = ctas, .since = now_};
    role.fluid_crew = crew;
    prologue_end(crew);
    return;
  }
  Crew& crew = crews_[role.fluid_crew];
  if (crew.state == Crew::State::working) {
    if (recording() && now_ > crew.since) cohort_span(crew);
  } else if (recording()) {
    cta_stall(crew, runs_[role.run].held ? StallReason::stream_order : StallReason::signal,
              crew.since, now_);
  }
  crew.since = now_;
  crew.ctas += ctas;
  apply_slowdown(role.fluid_crew, true);
}

void Simulation::advance_fluid(std::uint32_t index) {
  while (!roles_[index].idle.empty()) {
    RoleRun& role = roles_[index];
    const std::uint32_t crew_index = role.idle.back();
    role.idle.pop_back();
    Crew& crew = crews_[crew_index];
    const std::uint32_t ranges = program_.roles[role.role].ranges.count;
    while (crew.wave < ranges && role.left[static_cast<std::size_t>(crew.wave)] == 0) ++crew.wave;
    if (crew.wave == ranges) {
      if (role.empty.empty()) return retire_fluid(crew_index);
      crew.state = Crew::State::waiting;
      role.parked.push_back(crew_index);
      return;
    }
    take_range(crew_index, static_cast<std::uint32_t>(crew.wave), 0, 0);
  }
}

std::int64_t Simulation::fluid_time(const Crew& crew) const {
  const RoleRun& role = roles_[crew.role_run];
  if (!options_.effects.transport && program_.roles[role.role].purpose == Purpose::communication) {
    return 0;
  }
  const TileRange& range = range_of(role, crew.range);
  if (range.fluid_time) return slowed(range.fluid_time->ps(), role);
  return slowed(divide_up(Int128{range.sm_time.ps()} * range.tiles, role.ctas), role);
}

// Ranges a second with so many of the role's CTAs, and with its bytes over what is not shared.
ProgressRate Simulation::fluid_cap(const Crew& crew, std::int64_t resident) const {
  const RoleRun& role = roles_[crew.role_run];
  const auto time = static_cast<std::uint64_t>(fluid_time(crew));
  constexpr auto kSecond = static_cast<std::uint64_t>(kPicosecondsPerSecond);
  ProgressRate cap{kSecond, time};
  if (resident < role.ctas) {
    const std::int64_t common = std::gcd(resident, role.ctas);
    cap = {kSecond * static_cast<std::uint64_t>(resident / common),
           time * static_cast<std::uint64_t>(role.ctas / common)};
  }
  const std::uint32_t list = uses_of(role, crew.range);
  if (list == kNone || !compiled_.use_lists[list].cap) return cap;
  const ProgressRate& limit = *compiled_.use_lists[list].cap;
  const auto tiles = static_cast<std::uint64_t>(range_of(role, crew.range).tiles);
  const ProgressRate all{limit.numerator, limit.denominator * tiles};
  return UInt128{all.numerator} * cap.denominator < UInt128{cap.numerator} * all.denominator ? all
                                                                                             : cap;
}

void Simulation::finish_fluid(std::uint32_t index) {
  Crew& crew = crews_[index];
  RoleRun& role = roles_[crew.role_run];
  const std::uint32_t number = crew.range;
  const std::int64_t tiles = range_of(role, number).tiles;
  crew.state = Crew::State::idle;
  role.left[number] = 0;
  role.tiles_done += tiles;
  ++crew.wave;
  role.idle.push_back(index);
  mark_role(crew.role_run);
  follow_up(role, number, tiles);
}

void Simulation::retire_fluid(std::uint32_t index) {
  const Crew crew = crews_[index];
  drop_crew(index);
  RoleRun& role = roles_[crew.role_run];
  role.fluid_crew = kNone;
  KernelRun& run = runs_[role.run];
  // CTAs that never found room have nothing left to do.
  if (run.placed < run.ctas) {
    std::vector<std::uint32_t>& pending = pools_[run.pool].pending;
    const auto at = std::find(pending.begin(), pending.end(), role.run);
    if (at != pending.end() && run.single_role && run.roles.size() == 1) {
      pending.erase(at);
      run.ctas = run.placed;
      const std::uint32_t resident = compiled_.commands[run.command].extra;
      if (resident != kNone) reach(resident, run.command);
      mark_pool(run.pool);
    }
  }
  std::int64_t first = 0;
  for (const auto& [batch, ctas] : role.batches) {
    end_ctas(crew.role_run, batch, first, ctas);
    first += ctas;
  }
}

}  // namespace weft::sim::engine
