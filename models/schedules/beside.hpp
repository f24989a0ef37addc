// SPDX-License-Identifier: Apache-2.0
// A boundary whose collectives go whole, each on the communication stream as soon as what it sends is there, under
// the operators that do not need it: bulk overlap.
#pragma once

#include <functional>
#include <string_view>

#include "models/schedules/layer_program.hpp"
#include "models/workloads/boundary.hpp"

namespace weft::model {

/// Launches one whole collective on the communication stream of every rank; `resident`, where it is not empty, is
/// recorded by each rank's kernel once all of its CTAs are resident.
using LaunchWhole = std::function<void(const BoundaryCollective& collective,
                                       const std::vector<sim::EventId>& resident)>;

struct Beside {
  LaunchWhole launch;
  bool resident_first =
      false;                ///< an operator beside a collective starts once that one is resident
  int margin = 0;           ///< SMs that a product beside a collective leaves free
  bool one_stream = false;  ///< collectives go on the compute stream: nothing runs beside them
};

/// Writes the boundary: operators in its order, a collective as soon as its producers are written, waits only where
/// an operator consumes what arrives or a collective sends what was computed.
void emit_beside(const Boundary& boundary, const Beside& how, LayerProgram& program);

/// Whether some collective of the boundary has an operator beside it that neither makes nor needs what it moves.
[[nodiscard]] bool has_independent_work(const Boundary& boundary);

}  // namespace weft::model
