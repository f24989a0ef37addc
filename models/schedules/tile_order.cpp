// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/tile_order.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/shapes/tile.hpp"
#include "models/cost/gemm_pricer.hpp"
#include "models/schedules/prices.hpp"
#include "models/schedules/tile_walk.hpp"

namespace weft::model {

namespace {

/// Bytes of operands that the tiles of a wave touch: a group is walked column by column.
double operands_of_wave(const MatmulWork& work, const GemmCost& cost, std::int64_t together) {
  const GemmTile& tile = cost.kernel;
  const double down = static_cast<double>(
      std::max<std::int64_t>(1, std::min(together, work.rank.m) / (tile.tile_m * tile.cluster_m)) *
      tile.cluster_m);
  const double across = static_cast<double>(divide_up(work.rank.n, tile.tile_n));
  const double wave = static_cast<double>(std::min(cost.resident, cost.tiles) /
                                          std::max<std::int64_t>(1, cost.split_k));
  const double columns = std::min(across, wave / down);
  const double rows = std::max(std::min(down, wave), wave / across);
  return (rows * static_cast<double>(tile.tile_m) + columns * static_cast<double>(tile.tile_n)) *
         static_cast<double>(work.rank.k) * bits_of(work.x.element) / 8;
}

double hbm_of_walk(const Profile& profile, const MatmulWork& work, const GemmCost& cost,
                   std::int64_t rows_together, double sharers) {
  const double rows = static_cast<double>(
      std::min(std::max(rows_together, cost.kernel.tile_m * cost.kernel.cluster_m), work.rank.m));
  const double down = static_cast<double>(cost.kernel.tile_m * cost.resident / cost.split_k);
  return hbm_bytes_walked(
      profile, piece_of(work, work.rank.m, work.rank.n, GemmLibrary::ours),
      {.rows = rows,
       .columns = std::max(1.0, down / rows) * static_cast<double>(cost.kernel.tile_n),
       .split = cost.split_k,
       .sharers = sharers});
}

}  // namespace

OrderedTiles tiles_in_order(const Profile& profile, const MatmulWork& work, const GemmCost& cost,
                            std::int64_t rows_together, double sharers) {
  OrderedTiles tiles{cost.tile_time(), cost.hbm_per_tile};
  if (sharers > 1 && cost.tiles > 0 && rows_together < kernels::shapes::group_rows) {
    tiles.hbm_per_tile =
        Bytes::from(std::llround(hbm_of_walk(profile, work, cost, rows_together, sharers) /
                                 static_cast<double>(cost.tiles)));
    return tiles;
  }
  const double weights = static_cast<double>(work.rank.n) * static_cast<double>(work.rank.k) *
                         bits_of(work.w.element) / 8;
  const bool stays = weights * 2 <= static_cast<double>(profile.gpu.l2_size.value.count());
  if (rows_together >= kernels::shapes::group_rows || stays || tiles.tile_time <= Duration() ||
      cost.resident <= 0)
    return tiles;
  const double plain = operands_of_wave(work, cost, kernels::shapes::group_rows);
  const double ordered = operands_of_wave(work, cost, rows_together);
  if (ordered <= plain) return tiles;
  const double read_in_a_tile = static_cast<double>(profile.gpu.hbm.value.bytes_per_second()) *
                                static_cast<double>(tiles.tile_time.ps()) * 1e-12;
  const auto cubed = [&](double operands) { return std::pow(operands / read_in_a_tile, 3); };
  const double longer = std::cbrt((1 + cubed(ordered)) / (1 + cubed(plain)));
  tiles.tile_time =
      Duration::from_ps(std::llround(static_cast<double>(tiles.tile_time.ps()) * longer));
  const double a_tile = (ordered - plain) / static_cast<double>(cost.resident);
  tiles.hbm_per_tile += Bytes::from(std::llround(a_tile));
  return tiles;
}

}  // namespace weft::model
