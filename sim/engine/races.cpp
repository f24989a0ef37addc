// SPDX-License-Identifier: Apache-2.0
// Races: two kernels ready within the launch jitter of each other that cannot both be resident. One hardware queue hands
// its launches on in their order: kernels of the same do not race (CUDA_DEVICE_MAX_CONNECTIONS=1 has but one).
//
// A launch takes `launch`, and the jitter is no longer than that, so that when the first of two
// becomes ready the other is already on its way. If the race is to go the other way, the first
// took that much longer: it becomes ready with the second and goes behind it.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

// Whether the run must wait for one that comes a little later; notes the races that it is in.
bool Simulation::held_by_race(std::uint32_t slot) {
  const Effects& effects = options_.effects;
  const std::int64_t jitter = machine_.control.launch_jitter.ps();
  if (jitter == 0 || !effects.launch_and_sync || !effects.residency || effects.exclusive_engines) {
    return false;
  }
  const KernelRun& run = runs_[slot];
  const LabelId first = program_.kernels[run.kernel].label;
  std::uint32_t last = kNone;
  for (const std::uint32_t other : pools_[run.pool].launching) {
    const KernelRun& its = runs_[other];
    if (its.ready - run.ready >= jitter || its.ctas == 0 || run.ctas == 0) continue;
    if (compiled_.streams[its.stream].queue == compiled_.streams[run.stream].queue) continue;
    if (both_fit(slot, other)) continue;
    const RaceKind kind{.first = first, .second = program_.kernels[its.kernel].label};
    const auto met = std::find_if(races_.begin(), races_.end(),
                                  [&](const RaceMet& race) { return race.kind == kind; });
    if (met == races_.end()) {
      races_.push_back({.kind = kind, .gap = Duration::from_ps(its.ready - run.ready)});
    }
    const bool swapped = std::any_of(
        options_.races.begin(), options_.races.end(),
        [&](const RaceChoice& choice) { return choice.kind == kind && choice.swapped; });
    if (swapped && (last == kNone || its.ready > runs_[last].ready)) last = other;
  }
  if (last == kNone) return false;
  runs_[slot].behind = last;
  runs_[last].followers.push_back(slot);
  return true;
}

// Whether all CTAs of both find room beside what is resident and what waits before them.
bool Simulation::both_fit(std::uint32_t first, std::uint32_t second) const {
  const Pool& pool = pools_[runs_[first].pool];
  SmPool sms = pool.sms;
  std::uint32_t batch = kNone - 1;
  auto fits = [&](std::uint32_t slot) {
    const KernelRun& run = runs_[slot];
    const Kernel& kernel = program_.kernels[run.kernel];
    const int wanted = run.ctas - run.placed;
    return sms.place(kernel.footprint, kernel.cluster, wanted, batch--) == wanted;
  };
  for (const std::uint32_t waiting : pool.pending) {
    if (!fits(waiting)) return false;
  }
  return fits(first) && fits(second);
}

}  // namespace weft::sim::engine
