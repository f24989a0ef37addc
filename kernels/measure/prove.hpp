// SPDX-License-Identifier: Apache-2.0
// Whether every kernel is right on a group of ranks, before anything is timed on it.
#pragma once

#include "kernels/measure/bring_up.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Runs every operation, schedule and transport on ragged shapes, empty owners among them, and every
/// collective, each once on poisoned outputs against its reference.
Verdicts prove(Stage& stage);

}  // namespace weft::kernels
