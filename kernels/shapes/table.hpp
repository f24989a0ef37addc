// SPDX-License-Identifier: Apache-2.0
// The tiles that the kernels are compiled for. Every GEMM kernel has all of them; an index into
// this table is what launches and samples carry.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "kernels/shapes/tile.hpp"

namespace weft::kernels::shapes {

/// The tile table, smallest tile first.
inline constexpr std::array<Tile, 9> tiles{{
    {"64x128", 64, 64, Split::columns, 8, 1, 1, 1},
    {"64x256", 64, 128, Split::columns, 4, 2, 1, 1},
    {"128x128_c2x1", 64, 128, Split::rows, 6, 2, 2, 1},
    {"128x192_c2x1", 64, 192, Split::rows, 4, 3, 2, 1},
    {"192x128_c1x2", 192, 64, Split::columns, 4, 3, 1, 2},
    {"128x256", 64, 256, Split::rows, 4, 2, 1, 1},
    {"128x256_c2x1", 64, 256, Split::rows, 4, 2, 2, 1},
    {"256x128_c1x2", 128, 128, Split::rows, 4, 2, 1, 2},
    {"192x192_c2x1", 192, 96, Split::columns, 4, 4, 2, 1},
}};

namespace detail {
constexpr bool all_legal() {
  for (const Tile& tile : tiles)
    if (!tile.legal()) return false;
  return true;
}
}  // namespace detail
static_assert(detail::all_legal());

/// Returns the index of the tile called `name`.
constexpr std::optional<int> tile_index(std::string_view name) {
  for (std::size_t i = 0; i < tiles.size(); ++i)
    if (tiles[i].name == name) return static_cast<int>(i);
  return std::nullopt;
}

}  // namespace weft::kernels::shapes
