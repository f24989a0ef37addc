// SPDX-License-Identifier: Apache-2.0
// A collective alone on the ranks of a stage.
#pragma once

#include "calibration/sample/sample.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Checks the collective's output once, then times it; `check` receives the worst error over its
/// tolerance.
Times run_collective(Stage& stage, const calibration::Case& what, int warm_up, int repetitions,
                     double& check);

}  // namespace weft::kernels
