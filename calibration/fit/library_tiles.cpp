// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/library_tiles.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "calibration/fit/product_sample.hpp"

namespace weft::calibration {

namespace {

using TileKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

struct Seen {
  model::GemmTile tile;
  std::map<std::int64_t, int> stages;
  std::int64_t most_parts = 1;
  int times = 0;
};

/// The stages that were seen most often, the most of equals.
std::int64_t usual_stages(const std::map<std::int64_t, int>& stages) {
  return std::max_element(stages.begin(), stages.end(),
                          [](const auto& a, const auto& b) { return a.second <= b.second; })
      ->first;
}

}  // namespace

std::vector<model::GemmTile> library_tiles(const std::vector<Observation>& samples,
                                           const std::vector<model::GemmTile>& known) {
  std::map<TileKey, Seen> kernels;
  std::vector<Observation> products = products_in(samples);
  const std::vector<Observation> on_parts = products_in(samples, is_product_on_part);
  products.insert(products.end(), on_parts.begin(), on_parts.end());
  for (const Observation& seen : products) {
    const Case& what = seen.what();
    if (what.library != "cublaslt" || what.variant == "best") continue;
    const model::GemmTile tile = kernel_of(seen.sample->kernel);
    Seen& kernel = kernels[{tile.tile_m, tile.tile_n, tile.cluster_m, tile.cluster_n}];
    kernel.tile = tile;
    ++kernel.stages[tile.stages];
    ++kernel.times;
    kernel.most_parts = std::max<std::int64_t>(kernel.most_parts, seen.sample->kernel.split_k);
  }
  std::vector<model::GemmTile> tiles;
  for (auto& [key, kernel] : kernels) {
    model::GemmTile tile = kernel.tile;
    tile.stages = usual_stages(kernel.stages);
    tile.split_k = kernel.most_parts;
    for (const model::GemmTile& like : known) {
      tile.threads = like.threads;
      tile.registers_per_thread = like.registers_per_thread;
      tile.shared_memory = like.shared_memory;
      if (like.tile_m == tile.tile_m && like.tile_n == tile.tile_n) break;
    }
    tile.source = {model::SourceKind::measured,
                   fmt::format("chosen by cuBLASLt for {} products", kernel.times)};
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

}  // namespace weft::calibration
