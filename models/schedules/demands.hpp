// SPDX-License-Identifier: Apache-2.0
// How a tile kernel's CTAs take tiles, and what they ask of their SM's pipes, in thousandths. A tile kernel keeps the tensor cores busy and
// little else; a copying CTA keeps the load/store units busy. Assumed: only co-resident CTAs feel
// them, and a persistent GEMM's registers leave no room for any.
#pragma once

#include "models/profile/profile.hpp"
#include "sim/program.hpp"

namespace weft::model {

/// A persistent kernel of ours walks shares by position; the library's take a first tile by position and then whatever
/// is next. Seen on one H200: clusters that come late add the time of one tile, not of a share, to cuBLASLt's products.
inline sim::TileOrder tile_order(GemmLibrary library, bool persistent) {
  if (!persistent) return sim::TileOrder::one_cta_per_tile;
  return library == GemmLibrary::ours ? sim::TileOrder::static_shares
                                      : sim::TileOrder::own_then_counter;
}

inline constexpr sim::SmDemand matrix_demand{1000, 250, 250};
inline constexpr sim::SmDemand copy_demand{0, 100, 500};

}  // namespace weft::model
