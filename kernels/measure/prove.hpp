// SPDX-License-Identifier: Apache-2.0
// Whether every kernel is right on a group of ranks, before anything is timed on it.
#pragma once

#include <string>
#include <vector>

#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// What a proof found.
struct Verdicts {
  int right = 0;
  double worst = 0;                ///< error over its tolerance, of what was right
  std::vector<std::string> wrong;  ///< one line for each cell that was not
};

/// Runs every operation, schedule and transport on ragged shapes, empty owners among them, and every
/// collective, each once on poisoned outputs against its reference.
Verdicts prove(Stage& stage);

}  // namespace weft::kernels
