// SPDX-License-Identifier: Apache-2.0
// The cases of one job: every legal cell of a suite's grid, with the figures that belong to it.
#pragma once

#include <vector>

#include "kernels/measure/suite.hpp"

namespace weft::kernels {

/// Launches, hops, flags, copies and sums, one mechanism each.
std::vector<calibration::Case> primitive_cases(const Suite& suite);
/// Waits of streams for flags and events that are there or late, and copies between them.
std::vector<calibration::Case> wait_cases(const Suite& suite);
/// Collectives alone, by bytes, CTAs and copy engine.
std::vector<calibration::Case> collective_cases(const Suite& suite);
/// A product alone and beside each kind of traffic.
std::vector<calibration::Case> interference_cases(const Suite& suite,
                                                  const calibration::Case& base);
/// A, B, C, and D, A_s and B_s of every cell of chunks x transport x schedule.
std::vector<calibration::Case> boundary_cases(const Suite& suite, const calibration::Case& base);
/// The same over margins too: A, B, C once, A_s and B_s once for each distinct program.
std::vector<calibration::Case> decision_cases(const Suite& suite, const calibration::Case& base);

}  // namespace weft::kernels
