// SPDX-License-Identifier: Apache-2.0
// What flags cost a product whose tiles post them. A warp stores a tile, waits until that is complete, and counts it,
// with a fence for the whole system, for each chunk that its rows lie in; the next tile of the same warp waits until
// it is done.
//
//   behind  = store at an SM's part of the HBM + chunks of a tile * flag     after each tile; of the last one it shows
//   exposed = max(0, behind - tile) / warpgroups that take turns             of every other one
//
// Consumers that take turns have a store warp each, and two tiles' time for it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/cost/gemm_pricer.hpp"
#include "models/profile/profile.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {

/// How many chunks of `chunk_rows` rows a tile's rows lie in, in the mean over tiles of `tile_rows` of `rows`.
[[nodiscard]] inline double chunks_of_tile(std::int64_t rows, std::int64_t tile_rows,
                                           std::int64_t chunk_rows) {
  if (rows <= 0 || tile_rows <= 0 || chunk_rows <= 0) return 1;
  std::int64_t chunks = 0, tiles = 0;
  for (std::int64_t first = 0; first < rows; first += tile_rows, ++tiles)
    chunks += (std::min(first + tile_rows, rows) - 1) / chunk_rows - first / chunk_rows + 1;
  return static_cast<double>(chunks) / static_cast<double>(tiles);
}

/// Rows of X that one store warp of a kernel sends of a tile.
[[nodiscard]] inline std::int64_t rows_of_a_store(const GemmTile& kernel) {
  return kernel.overlaps_epilogue ? kernel.tile_m : divide_up(kernel.tile_m, std::int64_t{2});
}

/// What lies behind a tile whose rows lie in so many chunks, by a flag of `flag`.
[[nodiscard]] inline Duration behind_tile(const Profile& profile, const GemmTile& kernel,
                                          Duration flag, double chunks) {
  constexpr double bytes_of_output = 2;
  constexpr double ps_per_second = 1e12;
  const double store = drain_seconds(
      profile, bytes_of_output * static_cast<double>(kernel.tile_m * kernel.tile_n));
  return Duration::from_ps(static_cast<std::int64_t>(store * ps_per_second +
                                                     chunks * static_cast<double>(flag.ps())));
}

/// What of that a tile which takes `tile` shows of itself.
[[nodiscard]] inline Duration exposed_behind(const GemmTile& kernel, Duration behind,
                                             Duration tile) {
  return std::max(Duration(), behind - tile) / (kernel.overlaps_epilogue ? 2 : 1);
}

}  // namespace weft::model
