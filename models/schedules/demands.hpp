// SPDX-License-Identifier: Apache-2.0
// What a CTA asks of its SM's pipes, in thousandths. A tile kernel keeps the tensor cores busy and
// little else; a copying CTA keeps the load/store units busy. Assumed: only co-resident CTAs feel
// them, and a persistent GEMM's registers leave no room for any.
#pragma once

#include "sim/program.hpp"

namespace weft::model {

inline constexpr sim::SmDemand matrix_demand{1000, 250, 250};
inline constexpr sim::SmDemand copy_demand{0, 100, 500};

}  // namespace weft::model
