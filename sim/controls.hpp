// SPDX-License-Identifier: Apache-2.0
// What would a schedule take without its communication, and without its compute? A_s and B_s.
//
// A_s: transfers, gangs and the roles and kernels that do not compute are taken out, and so are the
// bytes that computing tiles send over routes; every wait for a signal is satisfied. A wait for an
// event of a stream that only communicates becomes a wait for the computing streams' events which
// that stream had itself waited for, so that compute stays ordered after compute and no hop of the
// communication is left.
//
// B_s: tile work of computing roles has zero length and no bytes of its own; what it sends over
// routes, its waits and its posts stay.
#pragma once

#include "sim/program.hpp"

namespace weft::sim {

/// Returns the program of A_s: compute alone, cut as the schedule cuts it.
[[nodiscard]] Program without_communication(const Program& program);

/// Returns the program of B_s: communication alone, posts of tiles kept.
[[nodiscard]] Program without_compute(const Program& program);

}  // namespace weft::sim
