// SPDX-License-Identifier: Apache-2.0
// The entry of the shipped kernels' table that a kernel of a price is: what a price does not carry of its shape.
#pragma once

#include <cstdint>

#include "kernels/shapes/table.hpp"
#include "models/profile/profile.hpp"

namespace weft::model {

/// None where the kernel is not one of ours, in so many parts of K.
[[nodiscard]] inline const kernels::shapes::Tile* own_tile(const GemmTile& kernel,
                                                           std::int64_t split) {
  for (const kernels::shapes::Tile& tile : kernels::shapes::tiles)
    if (tile.m() == kernel.tile_m && tile.n() == kernel.tile_n &&
        tile.cluster_m == kernel.cluster_m && tile.cluster_n == kernel.cluster_n &&
        tile.parts() == split)
      return &tile;
  return nullptr;
}

}  // namespace weft::model
