// SPDX-License-Identifier: Apache-2.0
// What samples of boundaries say about fusing: where it loses and why, how close a schedule comes to the
// ideal pipeline of its own parts, from how many chunks on one launch beats many, and what the best of
// each boundary saves. Markdown tables.
#pragma once

#include <iosfwd>

#include "calibration/sample/sample.hpp"

namespace weft::kernels {

/// The ideal pipeline of a cut: pieces of equal size computed and moved in order, each piece's second
/// stage after its first, the rows of the own rank first (gathered) or last (scattered), nothing lost.
/// `compute` and `transfers` are the whole of A_s and B_s; `pieces` those that move; `own` the share of
/// the compute that needs no transfer.
double ideal_pipeline(double compute, double transfers, int pieces, double own, bool gathers);

/// Writes the tables of every boundary and decision suite in `set`.
void report(const calibration::SampleSet& set, std::ostream& out);

}  // namespace weft::kernels
