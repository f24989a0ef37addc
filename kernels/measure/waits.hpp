// SPDX-License-Identifier: Apache-2.0
// Times what a stream's waits cost: for a flag or an event that is there when the stream comes to it, and
// for one that comes late, at a random moment of whatever looks for it.
#pragma once

#include "calibration/sample/sample.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Times of a case of a suite of waits: from what a stream would go on after (a kernel's end, a flag that
/// is posted) until what follows it on the waiting stream is seen by a kernel of rank 0; throws
/// std::invalid_argument for an unknown case.
Times run_wait(Stage& stage, const calibration::Case& what, int warm_up, int repetitions);

}  // namespace weft::kernels
