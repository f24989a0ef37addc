// SPDX-License-Identifier: Apache-2.0
// Can the ranks of a program be told apart? Each needs a host thread of its own that waits only for
// its own events, and NIC queue pairs of its own.
#pragma once

#include <string>

#include "sim/fold/symmetry.hpp"

namespace weft::sim::fold_detail {

/// Returns what two ranks have in common that only one of them can use at a time; empty: nothing.
[[nodiscard]] std::string shared_by_ranks(const Machine& machine, const Program& program,
                                          const RankView& view);

}  // namespace weft::sim::fold_detail
