// SPDX-License-Identifier: Apache-2.0
// CTAs that share an SM share its tensor, issue and load/store pipes.
//
//   sum over the CTAs of a class of SMs: demand_i x time_i x rate_i  <=  1000 x SMs, for each pipe
//
// SMs with the same residents are one class. Only where the demands of the residents can pass an SM
// is there anything to share: then the class's pipes are resources of the solver. CTAs placed
// together that are on SMs of different classes part company: they become batches of their own.
// CTAs of one class are taken to be spread over its SMs evenly.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

namespace {

using Peak = std::array<int, kPipes>;

Peak peak_of(const SmDemand& demand) {
  return {demand.tensor_milli, demand.issue_milli, demand.load_store_milli};
}

bool passes(const Peak& sum) {
  return std::any_of(sum.begin(), sum.end(), [](int milli) { return milli > 1000; });
}

// Whether anything of the program asks for a pipe at all.
bool asks_for_pipes(const Program& program) {
  const auto asks = [](const SmDemand& demand) {
    return (demand.tensor_milli | demand.issue_milli | demand.load_store_milli) != 0;
  };
  return std::any_of(program.ranges.begin(), program.ranges.end(),
                     [&](const TileRange& range) { return asks(range.demand); }) ||
         std::any_of(program.roles.begin(), program.roles.end(),
                     [](const Role& role) { return role.spin_issue_milli != 0; }) ||
         std::any_of(program.gang_members.begin(), program.gang_members.end(),
                     [&](const GangMember& member) { return asks(member.demand_per_cta); });
}

}  // namespace

// The most that a CTA of each kernel asks of each pipe, and whether any two can ask too much.
void Simulation::find_peaks() {
  if (!options_.effects.sm_share || !asks_for_pipes(program_)) return;
  peaks_.resize(program_.kernels.size());
  std::vector<std::pair<Footprint, Peak>> kinds;
  for (std::size_t i = 0; i < peaks_.size(); ++i) {
    peaks_[i] = kernel_peak(program_.kernels[i]);
    if (peaks_[i] == Peak{}) continue;
    const auto kind = std::make_pair(program_.kernels[i].footprint, peaks_[i]);
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  std::vector<SmCapacity> tried;
  for (const Device& device : machine_.devices) {
    if (std::find(tried.begin(), tried.end(), device.sms.per_sm) != tried.end()) continue;
    tried.push_back(device.sms.per_sm);
    for (const auto& [footprint, peak] : kinds) {
      SmPool sm(device.sms.per_sm, {1});
      Peak sum{};
      // One CTA of it, then as many of each other as fit beside.
      if (sm.place(footprint, 1, 1, 0) == 0) continue;
      for (const auto& [other, its] : kinds) {
        const int beside = sm.room(other, 1, kMostCtasPerSm);
        for (std::size_t p = 0; p < kPipes; ++p) sum[p] = peak[p] + its[p] * beside;
        if (passes(sum)) shares_sms_ = true;
      }
    }
    if (shares_sms_) return;
  }
}

// The residents of a pool's SMs change: its classes are found again when the moment is over.
void Simulation::residents_changed(std::uint32_t index) {
  Pool& pool = pools_[index];
  if (pool.changed) return;
  pool.changed = true;
  changed_pools_.push_back(index);
}

std::array<int, kPipes> Simulation::kernel_peak(const Kernel& kernel) const {
  if (kernel.gang) {
    const Gang& gang = program_.gangs[kernel.gang->value()];
    return peak_of(program_.gang_members[gang.members.first + kernel.gang_member].demand_per_cta);
  }
  Peak of_ctas{};
  Peak of_groups{};
  for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
    const Role& role = program_.roles[kernel.roles.first + r];
    Peak peak{0, role.spin_issue_milli, 0};
    for (std::uint32_t k = 0; k < role.ranges.count; ++k) {
      const Peak its = peak_of(program_.ranges[role.ranges.first + k].demand);
      for (std::size_t p = 0; p < kPipes; ++p) peak[p] = std::max(peak[p], its[p]);
    }
    for (std::size_t p = 0; p < kPipes; ++p) {
      if (role.scope == Role::Scope::ctas) {
        of_ctas[p] = std::max(of_ctas[p], peak[p]);
      } else {
        of_groups[p] += peak[p];
      }
    }
  }
  for (std::size_t p = 0; p < kPipes; ++p) of_ctas[p] += of_groups[p];
  return of_ctas;
}

const SmClass* Simulation::class_of(std::uint32_t batch) const {
  const Batch& its = batches_[batch];
  if (its.sm_class == kNone) return nullptr;
  return &pools_[runs_[its.run].pool].classes[its.sm_class];
}

// Residents of a pool's SMs have changed: its classes follow, and whoever is in them.
void Simulation::reclassify(std::uint32_t index) {
  Pool& pool = pools_[index];
  pool.changed = false;
  std::vector<SmClass> classes;
  for (const SmGroup& group : pool.sms.groups()) {
    Peak sum{};
    for (const Resident& resident : group.residents) {
      const Peak& peak = peaks_[runs_[batches_[resident.batch].run].kernel];
      for (std::size_t p = 0; p < kPipes; ++p) sum[p] += peak[p] * resident.ctas;
    }
    if (!passes(sum)) continue;
    const std::vector<Resident> residents(group.residents.begin(), group.residents.end());
    auto same = std::find_if(classes.begin(), classes.end(),
                             [&](const SmClass& its) { return its.residents == residents; });
    if (same == classes.end()) {
      classes.push_back({.residents = residents, .peak = sum});
      same = classes.end() - 1;
    }
    same->sms += group.sms;
  }
  if (classes.empty() && pool.classes.empty()) return;
  part_company(index, classes);
  for (SmClass& its : classes) {
    for (std::size_t p = 0; p < kPipes; ++p) {
      if (its.peak[p] > 1000) its.pipe[p] = take_pipe(its.sms);
    }
  }
  std::swap(pools_[index].classes, classes);
  // Whoever was or is on a contended SM goes on under the new classes.
  std::vector<std::uint32_t> batches;
  // A batch that is gone may be another pool's by now.
  auto note = [&](const SmClass& its) {
    for (const Resident& resident : its.residents) {
      if (pools_[index].sms.holds(resident.batch)) batches.push_back(resident.batch);
    }
  };
  for (const SmClass& its : classes) note(its);
  for (const SmClass& its : pools_[index].classes) note(its);
  std::sort(batches.begin(), batches.end());
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  for (const std::uint32_t batch : batches) batches_[batch].sm_class = kNone;
  for (std::uint32_t c = 0; c < pools_[index].classes.size(); ++c) {
    for (const Resident& resident : pools_[index].classes[c].residents) {
      batches_[resident.batch].sm_class = c;
    }
  }
  rebind_batches(batches);
  for (const SmClass& its : classes) {
    for (const std::uint32_t pipe : its.pipe) {
      if (pipe != kNone) free_pipes_[its.sms].push_back(pipe);
    }
  }
}

std::uint32_t Simulation::take_pipe(int sms) {
  std::vector<std::uint32_t>& free = free_pipes_[sms];
  if (free.empty()) {
    // Thousandths of an SM's pipe, times picoseconds a second.
    const auto capacity =
        static_cast<std::uint64_t>(sms) * 1000 * static_cast<std::uint64_t>(kPicosecondsPerSecond);
    return shares_.add_resource(capacity).value();
  }
  const std::uint32_t pipe = free.back();
  free.pop_back();
  return pipe;
}

// CTAs of one batch on SMs of different classes become batches of their own.
void Simulation::part_company(std::uint32_t index, std::vector<SmClass>& classes) {
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (std::size_t i = 0; i < classes[c].residents.size(); ++i) {
      const Resident resident = classes[c].residents[i];
      const int here = resident.ctas * classes[c].sms;
      if (here == batches_[resident.batch].ctas) continue;
      const std::uint32_t fresh = batches_.take();
      batches_[fresh] = batches_[resident.batch];
      batches_[fresh].ctas = here;
      batches_[resident.batch].ctas -= here;
      pools_[index].sms.rename(classes[c].residents, resident.batch, fresh);
      classes[c].residents[i].batch = fresh;
      std::sort(classes[c].residents.begin(), classes[c].residents.end(),
                [](const Resident& a, const Resident& b) { return a.batch < b.batch; });
      move_ctas(resident.batch, fresh, here);
      i = static_cast<std::size_t>(-1);  // residents have moved
    }
  }
}

// The last `count` CTAs of a batch, in the order of the grid, go over to another.
void Simulation::move_ctas(std::uint32_t from, std::uint32_t to, int count) {
  KernelRun& run = runs_[batches_[from].run];
  if (program_.kernels[run.kernel].gang) {
    run.batches.push_back(to);
    return;
  }
  if (!options_.effects.chunking) {
    // The last CTAs of the grid are those of the last roles; every CTA has all warp groups.
    std::int64_t left = count;
    for (auto role = run.roles.rbegin(); role != run.roles.rend(); ++role) {
      const bool group = program_.roles[roles_[*role].role].scope == Role::Scope::warp_group;
      const std::int64_t moved = move_fluid(roles_[*role], from, to, group ? count : left);
      if (!group) left -= moved;
    }
    return;
  }
  const std::int64_t border = border_of(from, count);
  for (std::uint32_t index = 0; index < crews_.size(); ++index) {
    if (crews_[index].state == Crew::State::gone || crews_[index].batch != from) continue;
    if (roles_[crews_[index].role_run].run != batches_[from].run) continue;
    const std::int64_t first = roles_[crews_[index].role_run].first_cta + crews_[index].first;
    if (first + crews_[index].ctas <= border) continue;
    const std::uint32_t rest = first >= border ? index : split_anywhere(index, border - first);
    crews_[rest].batch = to;
  }
}

// The CTA of the grid from which on `count` CTAs of the batch are still resident.
std::int64_t Simulation::border_of(std::uint32_t batch, int count) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::uint32_t index = 0; index < crews_.size(); ++index) {
    const Crew& crew = crews_[index];
    if (crew.state == Crew::State::gone || crew.batch != batch) continue;
    const RoleRun& role = roles_[crew.role_run];
    if (role.run != batches_[batch].run) continue;
    spans.emplace_back(role.first_cta + crew.first, role.first_cta + crew.first + crew.ctas);
  }
  // Several roles of one CTA lie on one another: merge, then count from the end.
  std::sort(spans.begin(), spans.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> merged;
  for (const auto& span : spans) {
    if (!merged.empty() && span.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, span.second);
    } else {
      merged.push_back(span);
    }
  }
  std::int64_t left = count;
  for (auto span = merged.rbegin(); span != merged.rend(); ++span) {
    const std::int64_t size = span->second - span->first;
    if (left <= size) return span->second - left;
    left -= size;
  }
  return 0;
}

// Of a role that still has CTAs; returns how many went over.
std::int64_t Simulation::move_fluid(RoleRun& role, std::uint32_t from, std::uint32_t to,
                                    std::int64_t count) {
  if (role.fluid_crew == kNone || count == 0) return 0;
  for (std::size_t i = 0; i < role.batches.size(); ++i) {
    if (role.batches[i].first != from) continue;
    const std::int64_t moved = std::min(count, role.batches[i].second);
    if (moved == role.batches[i].second) {
      role.batches[i].first = to;
    } else {
      role.batches[i].second -= moved;
      role.batches.emplace_back(to, moved);
    }
    return moved;
  }
  return 0;
}

// Splits a crew in whatever state it is; the rest waits, works or stands where the crew does.
std::uint32_t Simulation::split_anywhere(std::uint32_t index, std::int64_t ctas) {
  if (crews_[index].spin != kNone) stop_spin(index);
  const std::uint32_t rest = split(index, ctas);
  const Crew& crew = crews_[index];
  RoleRun& role = roles_[crew.role_run];
  KernelRun& run = runs_[role.run];
  switch (crew.state) {
    case Crew::State::prologue:
      at(crew.since + program_.kernels[run.kernel].prologue.ps(), Phase::finish, run.command,
         static_cast<std::uint32_t>(crews_[rest].first), {.what = What::prologue_end, .of = rest});
      break;
    case Crew::State::idle:
      (run.held ? run.held_crews : role.idle).push_back(rest);
      break;
    case Crew::State::waiting:
      if (std::find(role.parked.begin(), role.parked.end(), index) != role.parked.end()) {
        role.parked.push_back(rest);
        break;
      }
      [[fallthrough]];
    case Crew::State::confirming:
      wait_for_range(rest, Waiter::Kind::crew, role, crew.range);
      break;
    case Crew::State::working: {
      const std::uint32_t flow = flows_.take();
      flows_[flow] = flows_[crew.flow];
      flows_[flow].of = rest;
      flows_[flow].event = {};
      crews_[rest].flow = flow;
      crews_[rest].first_tile = crew.first_tile + crew.ctas;
      attach(flow, shares_.add(crew_demand(crews_[rest])));
      rebind(index);
      break;
    }
    case Crew::State::gone:
      break;
  }
  return rest;
}

// Crews and gangs of these batches go on under their present demands.
void Simulation::rebind_batches(const std::vector<std::uint32_t>& batches) {
  auto listed = [&](std::uint32_t batch) {
    return std::binary_search(batches.begin(), batches.end(), batch);
  };
  for (std::uint32_t index = 0; index < crews_.size(); ++index) {
    const Crew& crew = crews_[index];
    if (crew.state == Crew::State::gone) continue;
    if (crew.state == Crew::State::waiting || crew.state == Crew::State::confirming) {
      if (!listed(crew.batch)) continue;
      if (crew.spin != kNone) stop_spin(index);
      start_spin(index);
      continue;
    }
    const RoleRun& role = roles_[crew.role_run];
    const bool in = options_.effects.chunking
                        ? listed(crew.batch)
                        : std::any_of(role.batches.begin(), role.batches.end(),
                                      [&](const auto& its) { return listed(its.first); });
    if (in) rebind(index);
  }
  std::vector<std::uint32_t> gangs;
  for (const std::uint32_t batch : batches) {
    const std::uint32_t gang = runs_[batches_[batch].run].gang;
    if (gang != kNone && gang_runs_[gang].flow != kNone) gangs.push_back(gang);
  }
  std::sort(gangs.begin(), gangs.end());
  gangs.erase(std::unique(gangs.begin(), gangs.end()), gangs.end());
  for (const std::uint32_t gang : gangs) rebind_gang(gang);
}

// ---- records

// Which pipes of contended SMs the flow's CTAs ask for from now on.
void Simulation::tell_pipes(const Flow& flow) {
  if (!recording() || !shares_sms_ || flow.owner == Flow::Owner::transfer) return;
  PipeShare share{.command = compiled_.commands[command_of(flow)].ref,
                  .activity = flow.activity.value(),
                  .at = now()};
  if (flow.owner == Flow::Owner::crew) {
    const Crew& crew = crews_[flow.of];
    const RoleRun& role = roles_[crew.role_run];
    share.role = role.role;
    const SmDemand& demand = range_of(role, crew.range).demand;
    if (options_.effects.chunking) return tell_pipes(share, crew.batch, demand, crew.ctas);
    for (const auto& [batch, ctas] : role.batches) tell_pipes(share, batch, demand, ctas);
    return;
  }
  for (const std::uint32_t slot : gang_runs_[flow.of].runs) {
    const KernelRun& run = runs_[slot];
    share.role = member_of(run);
    const SmDemand& demand = program_.gang_members[share.role].demand_per_cta;
    for (const std::uint32_t batch : run.batches) {
      tell_pipes(share, batch, demand, batches_[batch].ctas);
    }
  }
}

void Simulation::tell_pipes(PipeShare share, std::uint32_t batch, const SmDemand& demand,
                            std::int64_t ctas) {
  const SmClass* const its_class = class_of(batch);
  if (its_class == nullptr) return;
  const Peak milli = peak_of(demand);
  for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
    if (its_class->pipe[pipe] == kNone || milli[pipe] == 0) continue;
    share.pipe = static_cast<SmPipe>(pipe);
    share.shared = its_class->pipe[pipe];
    share.sms = its_class->sms;
    share.ctas = static_cast<int>(ctas);
    emit(share);
  }
}

void Simulation::tell_spin(const Crew& crew, int ctas) {
  const RoleRun& role = roles_[crew.role_run];
  PipeShare share{.command = compiled_.commands[runs_[role.run].command].ref,
                  .activity = crew.spin,
                  .at = now(),
                  .pipe = SmPipe::issue,
                  .ctas = ctas,
                  .spins = true,
                  .role = role.role};
  if (ctas > 0) {
    const SmClass& its_class = *class_of(crew.batch);
    share.shared = its_class.pipe[static_cast<std::size_t>(SmPipe::issue)];
    share.sms = its_class.sms;
  }
  emit(share);
}

}  // namespace weft::sim::engine
