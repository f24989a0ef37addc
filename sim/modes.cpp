// SPDX-License-Identifier: Apache-2.0
// The outcomes of a program whose races can go either way, and how often each is expected.
//
// Each launch is late by a time that is uniform in [0, J], J the launch jitter, independently. Two
// kernels that are ready a gap g apart then swap with probability (1 - g / J)^2 / 2. Races of one
// kind go the same way, kinds independently; the gap is that of a kind's first race.
#include <algorithm>

#include "sim/run.hpp"

namespace weft::sim {

namespace {

constexpr std::size_t kKindsInFull = 2;

class Modes {
 public:
  Modes(const Machine& machine, const Program& program, const RunOptions& options,
        Workspace* workspace)
      : machine_(machine), program_(program), options_(options), workspace_(workspace) {}

  ModesResult explore() {
    // A run that goes the other way can meet kinds that were not known before: start over with
    // them until there are no new ones. Kinds are pairs of labels, so that this ends.
    for (;;) {
      const std::size_t known = kinds_.size();
      ModesResult result;
      if (kinds_.size() <= kKindsInFull) {
        const unsigned combinations = 1U << kinds_.size();
        for (unsigned swapped = 0; swapped < combinations; ++swapped) {
          result.modes.push_back(mode(swapped));
        }
      } else {
        result.unresolved_kinds = kinds_.size() - kKindsInFull;
        result.modes.push_back(mode_of([](std::size_t) { return false; }));
        result.modes.push_back(mode_of([](std::size_t) { return true; }));
      }
      if (kinds_.size() != known) continue;
      double sum = 0;
      for (const Mode& mode : result.modes) sum += mode.share;
      for (Mode& mode : result.modes) mode.share /= sum;
      std::stable_sort(result.modes.begin(), result.modes.end(),
                       [](const Mode& a, const Mode& b) { return a.result.end < b.result.end; });
      return result;
    }
  }

 private:
  Mode mode(unsigned swapped) {
    return mode_of([swapped](std::size_t kind) { return ((swapped >> kind) & 1U) != 0; });
  }

  template <class Swapped>
  Mode mode_of(const Swapped& swapped) {
    Mode mode;
    RunOptions options = options_;
    options.races.clear();
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      options.races.push_back({.kind = kinds_[i].kind, .swapped = swapped(i)});
      const double chance = swap_chance(kinds_[i].gap);
      mode.share *= swapped(i) ? chance : 1 - chance;
    }
    mode.result = run(machine_, program_, options, {}, workspace_);
    mode.choices = options.races;
    for (const RaceMet& met : mode.result.races) {
      const bool known = std::any_of(kinds_.begin(), kinds_.end(),
                                     [&](const RaceMet& kind) { return kind.kind == met.kind; });
      if (!known) kinds_.push_back(met);
    }
    return mode;
  }

  [[nodiscard]] double swap_chance(Duration gap) const {
    const double left = 1 - ratio(gap, machine_.control.launch_jitter);
    return left * left / 2;
  }

  const Machine& machine_;
  const Program& program_;
  const RunOptions& options_;
  Workspace* workspace_;
  std::vector<RaceMet> kinds_;
};

}  // namespace

ModesResult run_modes(const Machine& machine, const Program& program, const RunOptions& options,
                      Workspace* workspace) {
  return Modes(machine, program, options, workspace).explore();
}

}  // namespace weft::sim
