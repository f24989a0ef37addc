// SPDX-License-Identifier: Apache-2.0
// Small machines with round numbers, and a sink that keeps what a run tells.
#pragma once

#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "sim/machine.hpp"
#include "sim/program_builder.hpp"
#include "sim/record.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"

namespace weft {

inline void PrintTo(Duration duration, std::ostream* out) {
  *out << fmt::format("{}", duration);
}

}  // namespace weft

namespace weft::sim::lab {

struct LabOptions {
  int devices = 2;
  std::vector<int> sms_per_gpc = {4, 4};
  SmCapacity per_sm = {
      .threads = 1024, .registers = 65536, .shared_memory = Bytes::from(1 << 18), .cta_slots = 8};
  Bandwidth memory = Bandwidth::from_bytes_per_second(4'000'000'000'000);
  Bandwidth link = Bandwidth::from_bytes_per_second(100'000'000'000);
  int copy_engines = 1;
  int max_connections = 32;
  ControlLatency control = {};
};

/// Devices 0..n-1 with memories of the same number, one rank each, one process and host thread in
/// common; each device has an egress link (2d) and an ingress link (2d + 1), and route(s, d) takes
/// s's egress and d's ingress. The last memory is the host's, of the same bandwidth as the links,
/// with routes over the same links.
Machine machine(const LabOptions& options = {});

/// The route from one memory to another; throws where there is none.
RouteId route(const Machine& machine, std::uint32_t from, std::uint32_t to);

/// Keeps every record.
struct Tape final : RecordSink {
  using RecordSink::on;
  void on(const CommandSpan& span) override { commands.push_back(span); }
  void on(const CohortSpan& span) override { cohorts.push_back(span); }
  void on(const ResidencySpan& span) override { residencies.push_back(span); }
  void on(const RateChange& change) override { rates.push_back(change); }
  void on(const Stall& stall) override { stalls.push_back(stall); }

  /// The span of the `index`-th call of thread 0.
  [[nodiscard]] CommandSpan command(std::uint32_t index) const;
  /// The time that command `index` of thread 0 (or its CTAs, each counted) waited for `reason`.
  [[nodiscard]] Duration stalled(std::uint32_t index, StallReason reason) const;

  std::vector<CommandSpan> commands;
  std::vector<CohortSpan> cohorts;
  std::vector<ResidencySpan> residencies;
  std::vector<RateChange> rates;
  std::vector<Stall> stalls;
};

/// Runs and keeps the records.
RunResult run(const Machine& machine, const Program& program, Tape& tape,
              const Effects& effects = {});
/// Runs and returns the end.
Duration end_of(const Machine& machine, const Program& program, const Effects& effects = {});

/// One CTA a whole SM: nothing shares an SM with it.
Footprint whole_sm();

}  // namespace weft::sim::lab
