// SPDX-License-Identifier: Apache-2.0
// What the model says of a case that was measured: the machine of its back end, the boundary of its shape, the
// schedule that the planner would expand with the case's knobs, and a run of the engine.
//
// host_link:     one rank on one device; its peers are host memory beside it, always ready.
// virtual_ranks: every rank on its part of one device's SMs.
// peer_gpus:     a rank a device, on the first devices of a node.
// One host thread of one process drives all ranks: their streams join by events, and share that process's hardware queues.
// All calls of a measured repetition are issued before its clock starts, so a host call costs nothing here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/predict/frame.hpp"
#include "calibration/sample/sample.hpp"
#include "models/planner/evaluate.hpp"
#include "models/profile/profile.hpp"
#include "models/schedules/site.hpp"
#include "sim/run.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// One way that the case can go.
struct PredictedMode {
  double share = 1;
  Duration time;
};

/// What is predicted of a case: its modes, the fastest first.
struct PredictedCase {
  std::vector<PredictedMode> modes;
  [[nodiscard]] Duration worst() const { return modes.back().time; }
  /// The mean over the modes by their shares.
  [[nodiscard]] Duration expected() const;
};

/// Predicts cases of boundaries on one machine under one profile; keeps the sites that it has built.
class Predictor {
 public:
  /// `frames`: what a repetition takes beside its work; `tile_order`: whether tiles in the order of their chunks are
  /// priced with what they read again; `one_process`: whether one process drives all ranks; `weights_stay`: whether
  /// pieces find in the L2 what the one before read.
  Predictor(topology::MachineSpec machine, model::Profile profile, Frames frames = {},
            bool tile_order = true, bool one_process = true, bool weights_stay = true);

  /// A figure (A, B, C, D, A_s, B_s) of a boundary; none where the model has no such case.
  /// `speed_permille` is that of the device's SMs, over what the profile says.
  [[nodiscard]] std::optional<PredictedCase> predict(const Case& what,
                                                     const sim::Effects& effects = {},
                                                     std::int64_t speed_permille = 1000);

  [[nodiscard]] const model::Profile& profile() const { return profile_; }
  /// The site of a case; its back end is host_link, virtual_ranks or peer_gpus.
  [[nodiscard]] const model::Site& site_of(const Case& what);

 private:
  topology::MachineSpec machine_;
  model::Profile profile_;
  Frames frames_;
  bool tile_order_, one_process_, weights_stay_;
  std::map<std::string, model::Site> sites_;
};

}  // namespace weft::calibration
