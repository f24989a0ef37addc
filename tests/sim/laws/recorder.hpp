// SPDX-License-Identifier: Apache-2.0
// Keeps everything that a run tells, and runs a program with its records.
#pragma once

#include <vector>

#include "sim/critical_path.hpp"
#include "sim/record.hpp"
#include "sim/run.hpp"

namespace weft::sim::laws {

class Recorder : public RecordSink {
 public:
  void on(const CommandSpan& record) override { commands.push_back(record); }
  void on(const CohortSpan& record) override { cohorts.push_back(record); }
  void on(const ResidencySpan& record) override { residencies.push_back(record); }
  void on(const RateChange& record) override { rates.push_back(record); }
  void on(const PipeShare& record) override { pipes.push_back({record, rates.size()}); }
  void on(const Stall& record) override { stalls.push_back(record); }
  void on(const SignalPosted& record) override { posted.push_back(record); }
  void on(const SignalSeen& record) override { seen.push_back(record); }

  std::vector<CommandSpan> commands;
  std::vector<CohortSpan> cohorts;
  std::vector<ResidencySpan> residencies;
  std::vector<RateChange> rates;
  struct PipeTold {
    PipeShare share;
    std::size_t rates_before = 0;  ///< of `rates`, as the records came
  };
  std::vector<PipeTold> pipes;
  std::vector<Stall> stalls;
  std::vector<SignalPosted> posted;
  std::vector<SignalSeen> seen;
};

/// What ran, and what it told.
struct RecordedRun {
  const Machine& machine;
  const Program& program;
  RunOptions options;
  RunResult result;
  Recorder records;
  CriticalPath path;
};

/// Runs and records; throws what run() throws.
RecordedRun record(const Machine& machine, const Program& program, const RunOptions& options = {});

}  // namespace weft::sim::laws
