// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/tile_walk.hpp"

#include <algorithm>

#include "kernels/shapes/tile.hpp"
#include "models/schedules/rows.hpp"

namespace weft::model {
namespace {

struct Owned {
  RowRange rows;
  int chunk = 0;
};

std::vector<Owned> chunks_by_row(const ChunkPlan& plan, int rank) {
  std::vector<Owned> owned;
  for (int chunk = 0; chunk < plan.size(); ++chunk) {
    for (const Piece& piece : plan.pieces(rank, chunk)) owned.push_back({piece.rows, chunk});
  }
  std::sort(owned.begin(), owned.end(),
            [](const Owned& a, const Owned& b) { return a.rows.begin < b.rows.begin; });
  return owned;
}

std::vector<int> touched(const std::vector<Owned>& owned, std::int64_t begin, std::int64_t end) {
  std::vector<int> chunks;
  for (const Owned& each : owned) {
    if (each.rows.begin < end && begin < each.rows.end) chunks.push_back(each.chunk);
  }
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  return chunks;
}

}  // namespace

bool ranks_walk_alike(std::int64_t rows, int ranks, const GemmCost& cost) {
  return rows % ranks == 0 && rows / ranks % (cost.kernel.tile_m * cost.kernel.cluster_m) == 0;
}

std::int64_t rows_together(const ChunkPlan& plan, int rank, bool gathers) {
  std::int64_t longest = 1;
  for (const Owned& each : chunks_by_row(plan, rank)) {
    if (each.chunk != (gathers ? 0 : plan.size() - 1))
      longest = std::max(longest, each.rows.rows());
  }
  return std::min<std::int64_t>(kernels::shapes::group_rows, longest);
}

std::int64_t tiles_of(const GemmCost& cost, std::int64_t rows, std::int64_t columns, bool whole) {
  const std::int64_t high = cost.kernel.tile_m * cost.kernel.cluster_m;
  const std::int64_t across = divide_up(columns, cost.kernel.tile_n * cost.kernel.cluster_n);
  const std::int64_t down = whole ? divide_up(rows, high) : rows / high;
  return down * across * cost.kernel.cluster_m * cost.kernel.cluster_n * cost.split_k;
}

std::vector<TileStretch> tile_walk(const ChunkPlan& plan, int rank, bool gathers,
                                   std::int64_t columns, const GemmCost& cost,
                                   const std::vector<RowRange>& own) {
  std::vector<Owned> owned = chunks_by_row(plan, rank);
  if (!own.empty()) {
    const int last = plan.size() - 1;
    std::erase_if(owned, [last](const Owned& each) { return each.chunk == last; });
    int chunk = last;
    for (const RowRange& cut : own) owned.push_back({cut, chunk++});
  }
  std::int64_t all = 0;
  for (const Owned& each : owned) all = std::max(all, each.rows.end);
  const std::int64_t cluster_rows = cost.kernel.tile_m * cost.kernel.cluster_m;
  const std::int64_t rows = divide_up(all, cluster_rows);
  const std::int64_t across = divide_up(columns, cost.kernel.tile_n * cost.kernel.cluster_n);
  const std::int64_t a_place = cost.kernel.cluster_m * cost.kernel.cluster_n * cost.split_k;
  const RowRange shard = shard_of(all, plan.ranks(), gathers ? rank : (rank + 1) % plan.ranks());
  const std::int64_t first = std::clamp<std::int64_t>(shard.begin / cluster_rows, 0, rows - 1);
  const std::int64_t group =
      std::clamp<std::int64_t>(rows_together(plan, rank, gathers) / cluster_rows, 1, rows);

  std::vector<std::vector<int>> of_row;
  for (std::int64_t row = 0; row < rows; ++row)
    of_row.push_back(touched(owned, row * cluster_rows, (row + 1) * cluster_rows));
  std::vector<TileStretch> walk;
  for (std::int64_t begin = 0; begin < rows; begin += group) {
    const std::int64_t height = std::min(group, rows - begin);
    for (std::int64_t column = 0; column < across; ++column) {
      for (std::int64_t down = 0; down < height; ++down) {
        const std::vector<int>& chunks =
            of_row[static_cast<std::size_t>((begin + down + first) % rows)];
        if (walk.empty() || walk.back().chunks != chunks) walk.push_back({0, chunks});
        walk.back().tiles += a_place;
      }
    }
  }
  return walk;
}

}  // namespace weft::model
