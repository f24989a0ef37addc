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
inline constexpr std::array<Tile, 20> tiles{{
    {"64x128", 64, 64, 2, Split::columns, 8, 1, 64, 1, 1},
    {"64x128_s4", 64, 64, 2, Split::columns, 8, 1, 64, 1, 1, 1, 4},
    {"64x256", 64, 128, 2, Split::columns, 4, 2, 64, 1, 1},
    {"64x256_c2x1", 64, 128, 2, Split::columns, 5, 1, 64, 2, 1},
    {"128x80_c1x2", 64, 80, 2, Split::rows, 8, 4, 16, 1, 2},
    {"128x128_c2x1_turns", 128, 128, 2, Split::turns, 6, 2, 64, 2, 1},
    {"128x160_k2", 64, 160, 2, Split::rows, 4, 5, 16, 1, 1, 2},
    {"128x160_c2x1_s2", 64, 160, 2, Split::rows, 5, 5, 32, 2, 1, 1, 2},
    {"128x192_c2x1_k2", 64, 192, 2, Split::rows, 4, 2, 32, 2, 1, 2},
    {"128x144_c2x1_turns", 128, 144, 2, Split::turns, 5, 3, 48, 2, 1},
    {"128x160_c2x1_turns", 128, 160, 2, Split::turns, 5, 4, 32, 2, 1},
    {"128x176_c2x1_turns", 128, 176, 2, Split::turns, 5, 8, 16, 2, 1},
    {"128x192_c2x1_turns", 128, 192, 2, Split::turns, 5, 3, 32, 2, 1},
    {"128x224_c2x1", 64, 224, 2, Split::rows, 4, 6, 32, 2, 1},
    {"128x256", 64, 256, 2, Split::rows, 4, 2, 64, 1, 1},
    {"128x256_c2x1", 64, 256, 2, Split::rows, 3, 4, 64, 2, 1},
    {"128x256_c4x1", 64, 256, 2, Split::rows, 4, 2, 64, 4, 1},
    {"192x192_c1x2", 64, 192, 3, Split::rows, 3, 3, 64, 1, 2},
    {"256x160_c2x1", 128, 160, 2, Split::rows, 3, 8, 32, 2, 1},
    {"256x192_c2x1", 128, 192, 2, Split::rows, 3, 3, 64, 2, 1},
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
