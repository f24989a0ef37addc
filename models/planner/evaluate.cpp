// SPDX-License-Identifier: Apache-2.0
#include "models/planner/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "models/planner/intervals.hpp"
#include "models/schedules/layer_program.hpp"
#include "models/schedules/registry.hpp"
#include "sim/controls.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

// A program on its machine, folded where its ranks are alike: the same times for less work.
struct Runnable {
  const sim::Machine& machine;
  const sim::Program& program;
  sim::Folded folded;

  Runnable(const sim::Machine& whole, const sim::Program& all, sim::Folded spent = {})
      : machine(whole), program(all), folded(sim::fold(whole, all, std::move(spent))) {}

  bool is_folded() const { return folded.refused.empty(); }
  const sim::Machine& its_machine() const { return is_folded() ? folded.machine : machine; }
  const sim::Program& its_program() const { return is_folded() ? folded.program : program; }
  sim::ModesResult modes(const sim::Effects& effects, sim::Workspace* workspace) const {
    return sim::run_modes(its_machine(), its_program(), {effects, {}}, workspace);
  }
};

Duration since_start(TimePoint end) {
  return end - TimePoint();
}

Duration worst_of(const sim::Machine& machine, const sim::Program& program,
                  const sim::Effects& effects, sim::Workspace& workspace) {
  return since_start(Runnable(machine, program).modes(effects, &workspace).worst().result.end);
}

// Compute is measured on the machine without overrides: what a slow part costs is exposed time, not compute.
sim::Effects even(sim::Effects effects) {
  effects.imbalance = false;
  return effects;
}

void set_overlapped(const sim::ModesResult& modes, Figures& figures) {
  for (const sim::Mode& mode : modes.modes)
    figures.modes.push_back({mode.share, since_start(mode.result.end)});
  figures.overlapped = since_start(modes.worst().result.end);
  figures.unresolved_races = modes.unresolved_kinds;
}

void set_yardsticks(const sim::Program& serial, const Site& site, const sim::Effects& effects,
                    sim::Workspace& workspace, Figures& figures) {
  const sim::Machine& machine = site.built.machine;
  figures.serial = worst_of(machine, serial, effects, workspace);
  figures.compute_only =
      worst_of(machine, sim::without_communication(serial), even(effects), workspace);
  figures.communication_only = worst_of(machine, sim::without_compute(serial), effects, workspace);
}

Figures every_figure(const sim::Program& program, const sim::Program& serial, const Site& site,
                     const sim::Effects& effects) {
  const sim::Machine& machine = site.built.machine;
  Figures figures;
  sim::Workspace workspace;
  set_yardsticks(serial, site, effects, workspace, figures);
  const Runnable whole(machine, program);
  set_overlapped(whole.modes(effects, &workspace), figures);
  figures.schedule_compute_only =
      worst_of(machine, sim::without_communication(program), even(effects), workspace);
  figures.schedule_communication_only =
      worst_of(machine, sim::without_compute(program), effects, workspace);
  figures.covered_ratio = covered_ratio(whole.its_machine(), whole.its_program(), {effects, {}});
  return figures;
}

ScheduleChoice serial_choice() {
  const Schedule* serial = find_schedule("serial");
  WEFT_CHECK(serial != nullptr,
             "the catalogue has no serial schedule: its object library is not linked");
  return {serial, Knobs(serial->info().knobs)};
}

}  // namespace

sim::Program boundary_program(const Boundary& boundary, const ScheduleChoice& choice,
                              const Site& site, sim::Program spent) {
  LayerProgram program(site, std::move(spent));
  choice.schedule->expand(boundary, choice.knobs, site, program);
  return program.finish();
}

sim::Program layer_program(const Layer& layer, const std::vector<ScheduleChoice>& choices,
                           const Site& site) {
  LayerProgram program(site);
  auto choice = choices.begin();
  for (const LayerPart& part : layer.parts) {
    if (const auto* boundary = std::get_if<Boundary>(&part)) {
      WEFT_CHECK(choice != choices.end(), "layer {} has more boundaries than choices", layer.name);
      choice->schedule->expand(*boundary, choice->knobs, site, program);
      ++choice;
      continue;
    }
    const Operator& op = std::get<Operator>(part);
    program.begin("");
    for (int rank = 0; rank < program.ranks(); ++rank) {
      program.tag(rank, 0, sim::Purpose::compute);
      program.operate(rank, program.compute(rank), op);
    }
  }
  return program.finish();
}

Figures overlapped_only(const Boundary& boundary, const ScheduleChoice& choice, const Site& site,
                        const sim::Effects& effects, Scratch* scratch) {
  Figures figures;
  Scratch own;
  Scratch& memory = scratch != nullptr ? *scratch : own;
  memory.program = boundary_program(boundary, choice, site, std::move(memory.program));
  Runnable runs(site.built.machine, memory.program, std::move(memory.folded));
  set_overlapped(runs.modes(effects, &memory.workspace), figures);
  memory.folded = std::move(runs.folded);
  return figures;
}

Figures yardsticks(const Boundary& boundary, const Site& site, const sim::Effects& effects) {
  Figures figures;
  sim::Workspace workspace;
  set_yardsticks(boundary_program(boundary, serial_choice(), site), site, effects, workspace,
                 figures);
  return figures;
}

Figures evaluate(const Boundary& boundary, const ScheduleChoice& choice, const Site& site,
                 const sim::Effects& effects) {
  return every_figure(boundary_program(boundary, choice, site),
                      boundary_program(boundary, serial_choice(), site), site, effects);
}

Figures evaluate(const Layer& layer, const std::vector<ScheduleChoice>& choices, const Site& site,
                 const sim::Effects& effects) {
  const std::vector<ScheduleChoice> serial(boundaries_of(layer).size(), serial_choice());
  return every_figure(layer_program(layer, choices, site), layer_program(layer, serial, site), site,
                      effects);
}

double covered_ratio(const sim::Machine& machine, const sim::Program& program,
                     const sim::RunOptions& options) {
  PurposeIntervals intervals(program, sim::RankId(0));
  sim::RecordSink* sink = &intervals;
  static_cast<void>(sim::run(machine, program, options, {&sink, 1}));
  return intervals.covered_ratio();
}

}  // namespace weft::model
