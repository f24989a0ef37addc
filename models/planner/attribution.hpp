// SPDX-License-Identifier: Apache-2.0
// Where exposed time comes from: the Shapley mean over the engine's eight switches.
//
// phi_e = sum over sets S without e of |S|! (7-|S|)! / 8! (D(S + e) - D(S)), all 256 sets simulated once. With all
// off the run takes A, with all on D, so the parts sum to D - A. The transport part is then split by where its
// stalls lie: fill (before the first tile), drain (after the last), link bound (between).
#pragma once

#include "models/planner/evaluate.hpp"
#include "models/planner/figures.hpp"

namespace weft::model {

/// Attribution of one boundary under one choice.
[[nodiscard]] Attribution attribute(const Boundary& boundary, const ScheduleChoice& choice,
                                    const Site& site, const sim::Effects& effects);

/// The same for a program that is there already; `compute_only` is A.
[[nodiscard]] Attribution attribute(const sim::Machine& machine, const sim::Program& program,
                                    Duration compute_only, const sim::Effects& effects);

}  // namespace weft::model
