// SPDX-License-Identifier: Apache-2.0
#include "sim/run.hpp"

#include "sim/engine/simulation.hpp"

namespace weft::sim {

Effects effects_of(Fidelity fidelity) {
  Effects effects;
  if (fidelity == Fidelity::contended) return effects;
  effects.exclusive_engines = true;
  effects.residency = false;
  effects.sm_share = false;
  effects.hbm_share = false;
  effects.link_share = false;
  effects.launch_and_sync = fidelity == Fidelity::alpha_beta;
  return effects;
}

Engine::Engine(const Machine& machine, const Program& program, const RunOptions& options,
               std::span<RecordSink* const> sinks)
    : simulation_(std::make_unique<engine::Simulation>(machine, program, options, sinks)) {}

Engine::~Engine() = default;

bool Engine::step() {
  return simulation_->step();
}

TimePoint Engine::now() const {
  return simulation_->now();
}

RunResult Engine::result() {
  return simulation_->result();
}

Workspace::Workspace() : state_(std::make_unique<engine::RunState>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

RunResult run(const Machine& machine, const Program& program, const RunOptions& options,
              std::span<RecordSink* const> sinks, Workspace* workspace) {
  engine::Simulation simulation(machine, program, options, sinks,
                                workspace == nullptr ? nullptr : workspace->state_.get());
  while (simulation.step()) {
  }
  return simulation.result();
}

}  // namespace weft::sim
