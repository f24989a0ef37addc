// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/one_process.hpp"

#include <algorithm>

namespace weft::model {

void share_process(Site& site) {
  sim::Machine& machine = site.built.machine;
  if (machine.ranks.empty()) return;
  const sim::Process process = machine.processes.at(machine.ranks.front().process.value());
  machine.processes = {process};
  for (sim::Rank& rank : machine.ranks) rank.process = sim::ProcessId(0);
}

bool in_one_process(const Site& site) {
  const auto& ranks = site.built.machine.ranks;
  return ranks.size() > 1 && std::all_of(ranks.begin(), ranks.end(), [&](const sim::Rank& rank) {
           return rank.process == ranks.front().process;
         });
}

void await_peers(LayerProgram& program) {
  const auto& threads = program.builder().program().threads;
  if (std::all_of(threads.begin(), threads.end(),
                  [](const sim::HostThread& thread) { return thread.commands.empty(); }))
    return;
  const int running = program.running();
  for (int rank = 0; rank < running; ++rank) {
    for (int step = 1; step < running; ++step)
      program.join(rank, program.communication(rank), program.compute((rank + step) % running));
  }
}

void await_arrivals(int chunk, LayerProgram& program) {
  for (int rank = 0; rank < program.running(); ++rank) {
    program.tag(rank, chunk, sim::Purpose::synchronisation);
    for (int from = 0; from < program.running(); ++from)
      program.join(rank, program.compute(rank), program.communication(from));
  }
}

}  // namespace weft::model
