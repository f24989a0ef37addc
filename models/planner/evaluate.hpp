// SPDX-License-Identifier: Apache-2.0
// From boundaries, schedules and a site to figures: builds the programs and runs them.
#pragma once

#include <span>
#include <vector>

#include "models/planner/figures.hpp"
#include "models/schedules/schedule.hpp"
#include "models/schedules/site.hpp"
#include "models/workloads/workload.hpp"
#include "sim/fold.hpp"
#include "sim/record.hpp"
#include "sim/run.hpp"

namespace weft::model {

/// A boundary with the schedule that runs it and its (legal) knobs.
struct ScheduleChoice {
  const Schedule* schedule = nullptr;
  Knobs knobs;
};

/// The program of one boundary alone, in the memory of one that is no longer needed.
[[nodiscard]] sim::Program boundary_program(const Boundary& boundary, const ScheduleChoice& choice,
                                            const Site& site, sim::Program spent = {});

/// The program of a whole layer: operators and boundaries in order, one choice for each boundary.
[[nodiscard]] sim::Program layer_program(const Layer& layer,
                                         const std::vector<ScheduleChoice>& choices,
                                         const Site& site);

/// Memory that one question leaves to the next: nothing else of it is kept.
struct Scratch {
  sim::Program program;
  sim::Folded folded;
  sim::Workspace workspace;
};

/// D of a boundary: the time of its worse mode; the one figure that a search needs. A thread that asks for many
/// gives memory of its own.
[[nodiscard]] Figures overlapped_only(const Boundary& boundary, const ScheduleChoice& choice,
                                      const Site& site, const sim::Effects& effects,
                                      Scratch* scratch = nullptr);

/// A, B and C of a boundary: the same for every schedule.
[[nodiscard]] Figures yardsticks(const Boundary& boundary, const Site& site,
                                 const sim::Effects& effects);

/// Every figure of one boundary.
[[nodiscard]] Figures evaluate(const Boundary& boundary, const ScheduleChoice& choice,
                               const Site& site, const sim::Effects& effects);

/// Every figure of one layer.
[[nodiscard]] Figures evaluate(const Layer& layer, const std::vector<ScheduleChoice>& choices,
                               const Site& site, const sim::Effects& effects);

/// Share of the communication's intervals on rank 0 that lies under its compute.
[[nodiscard]] double covered_ratio(const sim::Machine& machine, const sim::Program& program,
                                   const sim::RunOptions& options);

}  // namespace weft::model
