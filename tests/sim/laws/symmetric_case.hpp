// SPDX-License-Identifier: Apache-2.0
// Programs in which every rank does what the first does, its peers counted from itself.
#pragma once

#include "tests/sim/laws/random_program.hpp"

namespace weft::sim::laws {

/// How ranks answer one another: rank r's peer of number d is r + d or r xor d.
enum class Turn : std::uint8_t { rotation, exclusive_or };

/// The first rank's operations of a drawn case for each of `ranks` ranks, one a device like the
/// first device. Its signals become one a rank; gangs are of all ranks or, for exclusive_or, of
/// pairs.
Case symmetric(const Case& drawn, int ranks, Turn turn);

}  // namespace weft::sim::laws
