// SPDX-License-Identifier: Apache-2.0
// Where exposed time comes from: the Shapley mean over the engine's eight switches.
//
// With v(S) = D(S) - A(S), both under the effects S alone, phi_e is the mean of v(S + e) - v(S) over the orders in
// which the effects can be switched on, S being those that come before e. Two pairs stay together, since the second can
// do nothing without the first and would otherwise leave it half of what it causes: residency, then SM share;
// transport, then link share (Owen's value, in Essays in Mathematical Economics, 1977, with the order inside a union
// given). A knows no imbalance: overrides slow D alone. What is left with every effect off, v({}), is what the
// schedule's own kernels compute beyond A: a part of its own. All parts together are D - A. The transport part is then
// split by where its stalls lie: fill (before the first tile), drain (after the last), link bound (between).
#pragma once

#include "models/planner/evaluate.hpp"
#include "models/planner/figures.hpp"

namespace weft::model {

/// Attribution of one boundary under one choice.
[[nodiscard]] Attribution attribute(const Boundary& boundary, const ScheduleChoice& choice,
                                    const Site& site, const sim::Effects& effects);

/// The same for a program that is there already; `compute` is the program of A.
[[nodiscard]] Attribution attribute(const sim::Machine& machine, const sim::Program& program,
                                    const sim::Program& compute, const sim::Effects& effects);

}  // namespace weft::model
