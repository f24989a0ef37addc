// SPDX-License-Identifier: Apache-2.0
// The laws that every run obeys, whatever the program: each function returns a sentence for each
// breach, empty for a lawful run. They are derived from the machine, the program and the records
// alone and share no code with the engine.
#pragma once

#include <string>
#include <vector>

#include "tests/sim/laws/recorder.hpp"

namespace weft::sim::laws {

using Breaches = std::vector<std::string>;

/// Each command ends once, in the order that its edges ask for.
Breaches commands_end_once(const RecordedRun& run);
/// Spans and stalls tile each command and each stream from 0 to its last end.
Breaches lanes_are_tiled(const RecordedRun& run);
/// Cohorts and stalls of a kernel's CTAs tile their residency; each tile is done once; no SM pool
/// holds more than it can.
Breaches residency_is_tiled(const RecordedRun& run);
/// Rates integrate to the bytes and tiles of the program, and what leaves a hop is what enters it
/// times its declared fan.
Breaches bytes_are_conserved(const RecordedRun& run);
/// No resource carries more than its capacity, and each activity is at its cap or crosses a full
/// resource where no other has a larger weighted rate.
Breaches rates_are_max_min(const RecordedRun& run);

/// The rates of every moment are those that filling by hand gives: slow, so not among all().
Breaches rates_equal_filling(const RecordedRun& run);

/// The critical path's segments abut from 0 to the makespan, and what they call work is work.
Breaches critical_path_abuts(const RecordedRun& run);

/// All of them.
Breaches all(const RecordedRun& run);

/// Runs a program, reports every broken law as a test failure, and returns the run.
RecordedRun run_lawfully(const Machine& machine, const Program& program,
                         const RunOptions& options = {});

}  // namespace weft::sim::laws
