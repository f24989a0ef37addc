// SPDX-License-Identifier: Apache-2.0
// The textbook pipeline: n chunks of given durations on one compute and one communication engine.
//
//   serial    = n (c + m)
//   pipelined = c + (n - 1) max(c, m) + m        each chunk is communicated once it is computed
//   overlapped, independent = max(n c, n m)
//
// Interference slows a side while the other runs. Runs on the engine at the `ideal` fidelity; nothing is fitted.
#pragma once

#include <string>
#include <vector>

#include "models/planner/figures.hpp"
#include "models/planner/scenario.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"

namespace weft::model {

/// The one-device machine that a pipeline runs on, and the pipeline as a program for it.
struct PipelineProgram {
  sim::Machine machine;
  sim::Program program;
  sim::Program serial;
};
[[nodiscard]] PipelineProgram pipeline_program(const PipelineScenario& scenario);

/// A to D of the pipeline; A_s is A and B_s is B: chunks of given durations cost nothing on their own.
[[nodiscard]] Figures pipeline_figures(const PipelineScenario& scenario);

/// One thing that follows from a claim's own figures.
struct ClaimFinding {
  std::string name;      ///< "compute_alone", "overlap_bound", "matrix_busy_before", ...
  std::string sentence;  ///< with the figures
  bool holds = true;     ///< false: the claim cannot be what it is said to be
};

/// What a claim's published figures imply, and what they rule out.
[[nodiscard]] std::vector<ClaimFinding> examine(const Claim& claim);

}  // namespace weft::model
