// SPDX-License-Identifier: Apache-2.0
#include "models/planner/attribution.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
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

}  // namespace

namespace {

// The time of a program under every set of effects.
std::vector<Duration> times_of(const sim::Machine& machine, const sim::Program& program,
                               const sim::Effects& effects) {
  constexpr unsigned sets = 1U << switches.size();
  const sim::Folded folded = sim::fold(machine, program);
  const bool use_folded = folded.refused.empty();
  std::vector<Duration> time(sets);
  for (unsigned set = 0; set < sets; ++set) {
    const sim::RunOptions options{with(effects, set), {}};
    const sim::ModesResult modes = use_folded
                                       ? sim::run_modes(folded.machine, folded.program, options)
                                       : sim::run_modes(machine, program, options);
    time[set] = modes.worst().result.end - TimePoint();
  }
  return time;
}

}  // namespace

Attribution attribute(const sim::Machine& machine, const sim::Program& program,
                      const sim::Program& compute, const sim::Effects& effects) {
  constexpr unsigned sets = 1U << switches.size();
  std::vector<Duration> time = times_of(machine, program, effects);
  const std::vector<Duration> alone = times_of(machine, compute, effects);
  for (unsigned set = 0; set < sets; ++set) time[set] -= alone[set];

  // |S|! (n-1-|S|)! as weights over n!.
  constexpr std::size_t n = switches.size();
  std::array<std::int64_t, n + 1> factorial{1};
  for (std::size_t i = 1; i <= n; ++i)
    factorial[i] = factorial[i - 1] * static_cast<std::int64_t>(i);
  Attribution attribution;
  Duration sum;
  for (std::size_t i = 0; i < n; ++i) {
    Int128 weighted = 0;
    for (unsigned set = 0; set < sets; ++set) {
      if ((set >> i & 1U) != 0) continue;
      const auto size = static_cast<std::size_t>(__builtin_popcount(set));
      weighted += Int128{(time[set | 1U << i] - time[set]).ps()} * factorial[size] *
                  factorial[n - 1 - size];
    }
    const Duration part = Duration::from_ps(narrow(weighted / factorial[n]));
    attribution.parts.push_back({switches[i].name, part});
    sum += part;
  }
  // What no effect explains, with the few picoseconds that the means' rounding leaves.
  attribution.parts.push_back({"own_kernels", time[sets - 1] - sum});
  const auto transport = std::find_if(attribution.parts.begin(), attribution.parts.end(),
                                      [](const auto& part) { return part.effect == "transport"; });
  attribution.transport = split(transport->time, stalls_of(machine, program, effects));
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
