// SPDX-License-Identifier: Apache-2.0
// Is a machine one that a run can use? Every reference inside it must lead somewhere.
#pragma once

#include "sim/machine.hpp"

namespace weft::sim::engine {

/// Most CTAs that one SM can hold at a time, of any device.
inline constexpr int kMostCtasPerSm = 32;

/// Throws CheckFailure at the first reference or number that makes no sense.
void validate(const Machine& machine);

}  // namespace weft::sim::engine
