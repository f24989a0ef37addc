// SPDX-License-Identifier: Apache-2.0
// Runs the cases that time one mechanism each.
#pragma once

#include "calibration/sample/sample.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Times of a primitive case on a stage, rank 0's view: `to_device` reads rank 1's memory, `to_host`
/// writes it; throws std::invalid_argument for an unknown one.
Times run_primitive(Stage& stage, const calibration::Case& what, int warm_up, int repetitions);

}  // namespace weft::kernels
