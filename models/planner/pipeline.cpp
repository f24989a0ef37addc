// SPDX-License-Identifier: Apache-2.0
#include "models/planner/pipeline.hpp"

#include <cmath>

#include <fmt/format.h>

#include "models/planner/intervals.hpp"
#include "sim/program_builder.hpp"
#include "sim/run.hpp"
#include "sim/units/check.hpp"
#include "sim/units/format.hpp"

namespace weft::model {
namespace {

// One device with one SM that holds one CTA of each kind: the durations are given, so nothing else matters.
sim::Machine one_device() {
  sim::Machine machine;
  machine.name = "pipeline";
  sim::Device device{.name = "device",
                     .sms = {},
                     .memory = sim::MemoryId(0),
                     .l2 = {},
                     .engines = {},
                     .interference = {}};
  device.sms = {{2}, {1, 1, Bytes::from(1), 1}};
  machine.devices.push_back(device);
  machine.memories.push_back(
      {"memory", sim::DeviceId(0), Bandwidth::from_bytes_per_second(1), Bytes::from(1)});
  machine.processes.push_back({.name = "process", .launch_cost = {}, .graph_launch_cost = {}});
  machine.ranks.push_back({sim::DeviceId(0), sim::ProcessId(0), {}});
  return machine;
}

struct ChunkTimes {
  Duration compute;
  Duration communication;
};

sim::Program program_of(const PipelineScenario& s, const ChunkTimes& times, bool overlapped) {
  sim::ProgramBuilder builder;
  const sim::StreamId compute = builder.stream(sim::RankId(0), 0, "compute");
  const sim::StreamId communication =
      overlapped ? builder.stream(sim::RankId(0), 1, "communication") : compute;
  const auto kernel = [&](std::string_view label, sim::Purpose purpose, Duration time) {
    return builder.kernel(label, 1)
        .footprint({1, 1, {}})
        .role(purpose, sim::TileOrder::static_shares)
        .range(1, time)
        .id();
  };
  const sim::KernelId computes = kernel("compute", sim::Purpose::compute, times.compute);
  const sim::KernelId communicates =
      kernel("communicate", sim::Purpose::communication, times.communication);
  sim::CallWriter host = builder.thread(sim::ProcessId(0));
  const bool chunked = s.dependency == PipelineScenario::Dependency::chunked;
  for (int chunk = 0; chunk < s.chunks; ++chunk) {
    const auto launch = [&](bool is_compute) {
      const sim::Purpose purpose = is_compute ? sim::Purpose::compute : sim::Purpose::communication;
      host.tagged(builder.tag({"pipeline", chunk, purpose}))
          .labelled(is_compute ? "compute" : "communicate")
          .launch(is_compute ? compute : communication, is_compute ? computes : communicates);
    };
    const bool compute_first = !s.communication_first;
    launch(compute_first);
    if (overlapped && chunked) {
      const sim::EventId done = builder.event();
      host.record(compute_first ? compute : communication, done)
          .wait(compute_first ? communication : compute, done);
    }
    launch(!compute_first);
  }
  return builder.finish();
}

Duration run_time(const sim::Machine& machine, const sim::Program& program) {
  const sim::RunOptions options{sim::effects_of(sim::Fidelity::ideal), {}};
  return sim::run(machine, program, options).end - TimePoint();
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

Duration part_of(Duration whole, double fraction) {
  return Duration::from_ps(std::llround(static_cast<double>(whole.ps()) * fraction));
}

}  // namespace

PipelineProgram pipeline_program(const PipelineScenario& s) {
  ChunkTimes clean{s.compute, s.communication};
  ChunkTimes beside = clean;
  if (s.interference) {
    beside.compute = s.interference->compute.value_or(clean.compute);
    beside.communication = s.interference->communication.value_or(clean.communication);
  }
  return {one_device(), program_of(s, beside, true), program_of(s, clean, false)};
}

Figures pipeline_figures(const PipelineScenario& s) {
  const PipelineProgram pipeline = pipeline_program(s);
  Figures figures;
  figures.compute_only = s.compute * s.chunks;
  figures.communication_only = s.communication * s.chunks;
  figures.schedule_compute_only = figures.compute_only;
  figures.schedule_communication_only = figures.communication_only;
  figures.serial = run_time(pipeline.machine, pipeline.serial);
  figures.overlapped = run_time(pipeline.machine, pipeline.program);
  figures.modes.push_back({1.0, figures.overlapped});
  PurposeIntervals intervals(pipeline.program, sim::RankId(0));
  sim::RecordSink* sink = &intervals;
  static_cast<void>(sim::run(pipeline.machine, pipeline.program,
                             {sim::effects_of(sim::Fidelity::ideal), {}}, {&sink, 1}));
  figures.covered_ratio = intervals.covered_ratio();
  return figures;
}

std::vector<ClaimFinding> examine(const Claim& claim) {
  std::vector<ClaimFinding> findings;
  const Duration communication = part_of(claim.serial, claim.serial_communication);
  const Duration compute = claim.serial - communication;
  findings.push_back(
      {"compute_alone",
       fmt::format("{} serial with {} of communication: compute alone is {}, communication {}",
                   claim.serial, percent(claim.serial_communication), compute, communication),
       true});
  const Duration bound = std::max(compute, communication);
  const bool overlap_alone = claim.fused >= bound;
  findings.push_back(
      {"overlap_bound",
       overlap_alone
           ? fmt::format(
                 "{} is not under the {} that perfect overlap leaves: overlap alone can explain it",
                 claim.fused, bound)
           : fmt::format("{} is under the {} that perfect overlap leaves: it cannot come from "
                         "overlap alone, {} of "
                         "compute must have gone too",
                         claim.fused, bound, bound - claim.fused),
       overlap_alone});
  if (claim.fused_communication) {
    findings.push_back(
        {"compute_fused",
         fmt::format("with at most {} of communication left, {} of {} is compute",
                     percent(*claim.fused_communication),
                     claim.fused - part_of(claim.fused, *claim.fused_communication), claim.fused),
         true});
  }
  if (claim.utilisation_before && claim.utilisation_after) {
    const Duration before = part_of(claim.serial, *claim.utilisation_before);
    const Duration after = part_of(claim.fused, *claim.utilisation_after);
    const bool same_work = after >= before;
    findings.push_back(
        {"matrix_busy",
         fmt::format(
             "matrix units were busy {} of {} before ({}) and {} of {} after ({}){}", before,
             claim.serial, percent(*claim.utilisation_before), after, claim.fused,
             percent(*claim.utilisation_after),
             same_work
                 ? ""
                 : ": the same work took them less time, so the products themselves got faster"),
         same_work});
  }
  if (claim.throughput_gain) {
    const double gain = 1 + *claim.throughput_gain;
    const double speedup = ratio(claim.serial, claim.fused);
    // Published figures are rounded to about a hundredth.
    const bool same = std::abs(gain - speedup) <= 0.02 * speedup;
    findings.push_back(
        {"throughput",
         fmt::format("{} more tokens is {:.2f}x, and {} / {} is {:.3f}x: {}",
                     percent(*claim.throughput_gain), gain, claim.serial, claim.fused, speedup,
                     same ? "the same gain said twice, not an extra one"
                          : "the two gains differ, so something else changed"),
         same});
  }
  return findings;
}

}  // namespace weft::model
