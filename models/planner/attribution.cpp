// SPDX-License-Identifier: Apache-2.0
#include "models/planner/attribution.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "models/planner/intervals.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/fold.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

struct Switch {
  const char* name;
  bool sim::Effects::*flag;
};

constexpr std::array<Switch, 8> switches = {{
    {"chunking", &sim::Effects::chunking},
    {"residency", &sim::Effects::residency},
    {"sm_share", &sim::Effects::sm_share},
    {"hbm_share", &sim::Effects::hbm_share},
    {"link_share", &sim::Effects::link_share},
    {"transport", &sim::Effects::transport},
    {"launch_and_sync", &sim::Effects::launch_and_sync},
    {"imbalance", &sim::Effects::imbalance},
}};
constexpr unsigned sets = 1U << switches.size();

constexpr unsigned set_of(bool sim::Effects::*flag) {
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (switches[i].flag == flag) return 1U << i;
  }
  return 0;
}
constexpr unsigned imbalance = set_of(&sim::Effects::imbalance);

// What is switched on together, first to last. Kernels that find no room together share no SM, and bytes that take no
// time share no link: each of these shares is what it adds to the effect that it needs.
struct Unit {
  unsigned first;
  unsigned second = 0;
  [[nodiscard]] constexpr unsigned all() const { return first | second; }
};
constexpr std::array<Unit, 6> units = {{
    {set_of(&sim::Effects::chunking)},
    {set_of(&sim::Effects::residency), set_of(&sim::Effects::sm_share)},
    {set_of(&sim::Effects::hbm_share)},
    {set_of(&sim::Effects::transport), set_of(&sim::Effects::link_share)},
    {set_of(&sim::Effects::launch_and_sync)},
    {imbalance},
}};

// Calls visit(before, switch, weight): `before` are the effects that are on when `switch` follows, in `weight` of the
// 6! orders of the units.
template <class Visit>
void each_step(Visit&& visit) {
  constexpr std::array<std::int64_t, 7> factorial = {1, 1, 2, 6, 24, 120, 720};
  for (unsigned chosen = 0; chosen < 1U << units.size(); ++chosen) {
    unsigned before = 0;
    for (std::size_t u = 0; u < units.size(); ++u) {
      if ((chosen >> u & 1U) != 0) before |= units[u].all();
    }
    const auto size = static_cast<std::size_t>(__builtin_popcount(chosen));
    if (size == units.size()) continue;
    const std::int64_t weight = factorial[size] * factorial[units.size() - 1 - size];
    for (std::size_t u = 0; u < units.size(); ++u) {
      if ((chosen >> u & 1U) != 0) continue;
      visit(before, units[u].first, weight);
      if (units[u].second != 0) visit(before | units[u].first, units[u].second, weight);
    }
  }
}

sim::Effects with(const sim::Effects& base, unsigned set) {
  sim::Effects effects = base;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    // An effect that the fidelity leaves out stays out.
    effects.*switches[i].flag = base.*switches[i].flag && (set >> i & 1U) != 0;
  }
  return effects;
}

// How long rank 0 moves bytes before it computes, after it has computed, and beside or between.
struct TransportStalls {
  Duration fill, drain, between;
};

TransportStalls stalls_of(const sim::Machine& machine, const sim::Program& program,
                          const sim::Effects& effects) {
  PurposeIntervals intervals(program, sim::RankId(0));
  sim::RecordSink* sink = &intervals;
  const sim::RunResult result = sim::run(machine, program, {effects, {}}, {&sink, 1});
  const IntervalSet& compute = intervals.compute();
  TransportStalls stalls;
  const TimePoint first = compute.begin().value_or(result.end),
                  last = compute.end().value_or(TimePoint());
  stalls.fill = first - TimePoint();
  stalls.drain = result.end - std::max(last, first);
  stalls.between = (last > first ? last - first : Duration()) - compute.length();
  return stalls;
}

// Splits `whole` in proportion to the three, in integers that sum to it.
std::vector<Attribution::Part> split(Duration whole, const TransportStalls& stalls) {
  const Duration sum = stalls.fill + stalls.drain + stalls.between;
  const auto part = [&](Duration stall) {
    return sum == Duration()
               ? Duration()
               : Duration::from_ps(narrow(Int128{whole.ps()} * stall.ps() / sum.ps()));
  };
  const Duration fill = part(stalls.fill), drain = part(stalls.drain);
  return {{"fill", fill}, {"drain", drain}, {"link_bound", whole - fill - drain}};
}

// The time of a program under every set of effects that a step begins or ends with; sets that differ by what `base`
// leaves out, or by what is `ignored`, are one.
std::vector<Duration> times_of(const sim::Machine& machine, const sim::Program& program,
                               const sim::Effects& base, unsigned ignored) {
  const sim::Folded folded = sim::fold(machine, program);
  const bool use_folded = folded.refused.empty();
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (!(base.*switches[i].flag)) ignored |= 1U << i;
  }
  std::vector<std::optional<Duration>> known(sets);
  std::vector<Duration> time(sets);
  const auto run = [&](unsigned set) {
    std::optional<Duration>& same = known[set & ~ignored];
    if (!same) {
      const sim::RunOptions options{with(base, set & ~ignored), {}};
      const sim::ModesResult modes = use_folded
                                         ? sim::run_modes(folded.machine, folded.program, options)
                                         : sim::run_modes(machine, program, options);
      same = modes.worst().result.end - TimePoint();
    }
    time[set] = *same;
  };
  each_step([&](unsigned before, unsigned effect, std::int64_t) {
    run(before);
    run(before | effect);
  });
  return time;
}

}  // namespace

Attribution attribute(const sim::Machine& machine, const sim::Program& program,
                      const sim::Program& compute, const sim::Effects& effects) {
  std::vector<Duration> time = times_of(machine, program, effects, 0);
  const std::vector<Duration> alone = times_of(machine, compute, effects, imbalance);
  for (unsigned set = 0; set < sets; ++set) time[set] -= alone[set];

  constexpr Int128 orders = 720;
  std::array<Int128, sets> weighted{};
  each_step([&](unsigned before, unsigned effect, std::int64_t weight) {
    weighted[effect] += Int128{(time[before | effect] - time[before]).ps()} * weight;
  });
  Attribution attribution;
  Duration sum;
  for (const Switch& each : switches) {
    const Duration part = Duration::from_ps(narrow(weighted[set_of(each.flag)] / orders));
    attribution.parts.push_back({each.name, part});
    sum += part;
  }
  // What no effect explains, with the few picoseconds that the means' rounding leaves.
  attribution.parts.push_back({"own_kernels", time[sets - 1] - sum});
  const auto moving = std::find_if(attribution.parts.begin(), attribution.parts.end(),
                                   [](const auto& part) { return part.effect == "transport"; });
  attribution.transport = split(moving->time, stalls_of(machine, program, effects));
  return attribution;
}

Attribution attribute(const Boundary& boundary, const ScheduleChoice& choice, const Site& site,
                      const sim::Effects& effects) {
  const Schedule* serial = find_schedule("serial");
  const sim::Program unfused =
      boundary_program(boundary, {serial, Knobs(serial->info().knobs)}, site);
  return attribute(site.built.machine, boundary_program(boundary, choice, site),
                   sim::without_communication(unfused), effects);
}

}  // namespace weft::model
