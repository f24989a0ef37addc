// SPDX-License-Identifier: Apache-2.0
// What flags cost a product whose tiles post them. A warp stores a tile slot by slot, looking up whose rows each is of,
// waits until that is complete, and counts the tile, with a fence for the whole system, for each chunk that its rows lie
// in; the next tile of the same warp waits until it is done.
//
//   behind  = slots of a tile * store slot + chunks of a tile * flag         after each tile; of the last one shows
//   shown   = behind - the store of a last tile, which the product's price has
//   exposed = max(0, behind - tile) / warpgroups that take turns             of every other one
//
// Consumers that take turns have a store warp each, and two tiles' time for it. Where a profile does not know what a slot
// takes, a tile is stored at an SM's share of the HBM.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/cost/gemm_pricer.hpp"
#include "models/cost/own_tile.hpp"
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

/// The store of a last tile that the price of a product in `split` parts of K has.
[[nodiscard]] inline Duration store_in_price(const Profile& profile, const GemmTile& kernel,
                                             std::int64_t split) {
  constexpr double ps_per_second = 1e12;
  const double bytes = split == 1 ? 2 : 4;
  return Duration::from_ps(static_cast<std::int64_t>(
      drain_seconds(profile, bytes * static_cast<double>(kernel.tile_m * kernel.tile_n)) *
      ps_per_second));
}

/// What lies behind a tile whose rows lie in so many chunks; nothing where tiles post no flags that the profile knows.
[[nodiscard]] inline Duration behind_tile(const Profile& profile, const GemmTile& kernel,
                                          std::int64_t split, double chunks) {
  const ControlCosts& control = profile.control;
  if (!control.tile_flag) return {};
  const kernels::shapes::Tile* own = own_tile(kernel, split);
  const Duration store = control.store_slot && own != nullptr
                             ? control.store_slot->value * own->slots_of_tile()
                             : store_in_price(profile, kernel, split);
  return store + Duration::from_ps(static_cast<std::int64_t>(
                     chunks * static_cast<double>(control.tile_flag->value.ps())));
}

/// What of that the last tile shows of itself.
[[nodiscard]] inline Duration shown_behind(const Profile& profile, const GemmTile& kernel,
                                           std::int64_t split, Duration behind) {
  return std::max(Duration(), behind - store_in_price(profile, kernel, split));
}

/// What of that a tile which takes `tile` shows of itself.
[[nodiscard]] inline Duration exposed_behind(const GemmTile& kernel, Duration behind,
                                             Duration tile) {
  return std::max(Duration(), behind - tile) / (kernel.overlaps_epilogue ? 2 : 1);
}

}  // namespace weft::model
