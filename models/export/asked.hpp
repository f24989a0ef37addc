// SPDX-License-Identifier: Apache-2.0
// What an overlap file of Transformer Engine asks for, run as it is beside what a plan picked: every
// boundary of the plan's layout under the method that the file, or else Transformer Engine's default,
// gives its product, with the file's own numbers; then the layers made of them.
#pragma once

#include <string>
#include <vector>

#include "models/import/preflight.hpp"
#include "models/import/tp_overlap.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

/// One boundary as the file asks for it.
struct AskedBoundary {
  std::string boundary;    ///< "fc1", "fc1.backward"
  std::string product;     ///< "fc1_fprop"; empty: Transformer Engine overlaps nothing here
  std::uint32_t line = 0;  ///< in the file; 0: the file is silent, and the default counts
  std::string asked;       ///< "te.pipeline num_splits=4 ...", or "serial"
  std::string refusal;     ///< why it cannot run as asked, and runs unfused; empty: it does
  Duration time;           ///< as asked
  Duration serial;
  std::string pick;  ///< of the plan
  Duration picked;
};

struct AskedPlan {
  std::string file;
  std::string layout;
  std::vector<AskedBoundary> boundaries;  ///< each name once, in program order
  Duration step;                          ///< as asked
  Duration serial_step;
  Duration planned_step;
  std::vector<std::string> notes;  ///< settings that change nothing here
};

/// Runs the best layout of a model's plan as the file asks. Throws config::ConfigErrors where the plan
/// is of one boundary, which is no product by name.
[[nodiscard]] AskedPlan run_as_asked(const Plan& plan, const TpOverlap& overlap);

/// What the run says against the file: boundaries that are refused or lose to the unfused way.
[[nodiscard]] std::vector<PreflightFinding> preflight(const AskedPlan& asked);

}  // namespace weft::model
