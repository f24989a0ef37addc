// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/laws/laws.hpp"

#include <array>

#include <gtest/gtest.h>

namespace weft::sim::laws {

RecordedRun record(const Machine& machine, const Program& program, const RunOptions& options) {
  RecordedRun run{.machine = machine,
                  .program = program,
                  .options = options,
                  .result = {},
                  .records = {},
                  .path = {}};
  const std::array<RecordSink*, 2> sinks{&run.records, &run.path};
  run.result = sim::run(machine, program, options, sinks);
  return run;
}

Breaches all(const RecordedRun& run) {
  Breaches breaches;
  for (const auto law : {commands_end_once, lanes_are_tiled, residency_is_tiled,
                         bytes_are_conserved, rates_are_max_min, critical_path_abuts}) {
    const Breaches more = law(run);
    breaches.insert(breaches.end(), more.begin(), more.end());
  }
  return breaches;
}

RecordedRun run_lawfully(const Machine& machine, const Program& program,
                         const RunOptions& options) {
  RecordedRun run = record(machine, program, options);
  for (const std::string& breach : all(run)) ADD_FAILURE() << breach;
  return run;
}

}  // namespace weft::sim::laws
