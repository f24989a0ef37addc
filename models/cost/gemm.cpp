// SPDX-License-Identifier: Apache-2.0
#include "models/cost/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "kernels/shapes/choose.hpp"
#include "kernels/shapes/table.hpp"
#include "models/cost/gemm_pricer.hpp"
#include "topologies/build.hpp"

namespace weft::model {

SmBudget SmBudget::of(const GpuFigures& gpu, std::int64_t sms) {
  SmBudget budget = of(gpu.sms.value);
  if (gpu.sms_per_gpc) budget.sms_per_gpc = gpu.sms_per_gpc->value;
  budget.most = sms;
  return budget;
}

std::int64_t SmBudget::sms() const {
  const auto all = std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), std::int64_t{0});
  return most > 0 ? std::min(most, all) : all;
}

std::int64_t SmBudget::resident_ctas(std::int64_t cluster) const {
  std::int64_t clusters = 0;
  for (const int sms : sms_per_gpc) clusters += sms / cluster;
  if (most > 0) clusters = std::min(clusters, most / cluster);
  return clusters * cluster;
}

namespace {

double seconds_of(Duration time) {
  return static_cast<double>(time.ps()) * 1e-12;
}

void check(const GemmProblem& problem, const SmBudget& budget) {
  if (problem.m >= 1 && problem.n >= 1 && problem.k >= 1 && budget.sms() >= 1) return;
  throw std::domain_error(fmt::format("a GEMM of {} x {} x {} on {} SMs cannot be", problem.m,
                                      problem.n, problem.k, budget.sms()));
}

std::string describe(const GemmTile& tile, std::int64_t split) {
  return fmt::format("{}x{}x{} in clusters of {}x{}{}", tile.tile_m, tile.tile_n, tile.tile_k,
                     tile.cluster_m, tile.cluster_n,
                     split == 1 ? std::string() : fmt::format(", K split {} ways", split));
}

GemmTile from_table(const kernels::shapes::Tile& tile) {
  return {.tile_m = tile.m(),
          .tile_n = tile.n(),
          .tile_k = kernels::shapes::Tile::k(),
          .stages = tile.stages,
          .cluster_m = tile.cluster_m,
          .cluster_n = tile.cluster_n,
          .threads = tile.threads(),
          .registers_per_thread = tile.registers() / tile.threads(),
          .shared_memory = Bytes::from(tile.shared_bytes()),
          .persistent = true,
          .overlaps_epilogue = tile.split == kernels::shapes::Split::turns,
          .split_k = tile.parts(),
          .source = {SourceKind::measured, "kernels/shapes, compiled as declared"}};
}

/// The kernel and split with the least modelled time, first of equals.
PricedGemm cheapest(const std::vector<GemmTile>& tiles, const GemmProblem& problem,
                    const GemmPricer& pricer) {
  PricedGemm best;
  for (const GemmTile& kernel : tiles) {
    for (const std::int64_t split : {1, 2, 4, 8}) {
      // The library splits K only where whole tiles leave SMs idle and each part still has a loop to run.
      if (split > kernel.split_k || (split > 1 && problem.k < split * 8 * kernel.tile_k)) break;
      const PricedGemm now = pricer.price(kernel, split);
      if (now.time < best.time) best = now;
      if (now.tiles > now.resident) break;
    }
  }
  return best;
}

GemmTile kernel_of(const MeasuredProduct& row, const Profile& profile) {
  GemmTile tile;
  for (const GemmTile& known : profile.gemm->tiles) {
    if (known.tile_m != row.tile_m || known.tile_n != row.tile_n) continue;
    tile = known;
    if (known.cluster_m == row.cluster_m && known.cluster_n == row.cluster_n) break;
  }
  tile.tile_m = row.tile_m;
  tile.tile_n = row.tile_n;
  tile.tile_k = row.tile_k;
  tile.stages = row.stages;
  tile.cluster_m = row.cluster_m;
  tile.cluster_n = row.cluster_n;
  return tile;
}

/// How many measured products speak for one that was not measured, and how much K and the SM count weigh beside M
/// and N in what is like it. Of 1 to 24 products and weights from a half to two this had the least error on one
/// H200: with fewer the kernel is often one that does not suit, with more it is one that the library does not take.
constexpr std::size_t kSpeakers = 12;
constexpr double kDepthWeight = 0.5, kSmsWeight = 2;
/// The same for parts of a device, of 1 to 12: there the library takes kernels that do not suit, since it sees neither
/// GPCs nor waves of late clusters, and few products say better what it takes.
constexpr std::size_t kSpeakersOnParts = 5;

/// The library's clusters on SMs that it counts: the largest that divides them, down the rows as far as there are tiles.
/// So it was with 12 to 64 SMs of one H200, whatever the tile.
GemmTile with_clusters_of(GemmTile kernel, std::int64_t rows, std::int64_t sms) {
  std::int64_t cluster = 8;
  while (sms % cluster != 0) cluster /= 2;
  const std::int64_t down = divide_up(rows, kernel.tile_m);
  kernel.cluster_m = down >= 4   ? std::min<std::int64_t>(4, cluster)
                     : down >= 2 ? std::min<std::int64_t>(2, cluster)
                                 : 1;
  kernel.cluster_n = std::min<std::int64_t>(4, cluster / kernel.cluster_m);
  return kernel;
}

/// The measured products that say what a library takes on these SMs.
const std::vector<MeasuredProducts>& measured_on(const Profile& profile, const SmBudget& budget) {
  const GemmConstants& gemm = *profile.gemm;
  return budget.is_part() && !gemm.measured_on_parts.empty() ? gemm.measured_on_parts
                                                             : gemm.measured;
}

/// What the library chose for the measured products that are most like this one: the least modelled time of their
/// kernels. Of a part of a device it counts the SMs, and sees neither which clusters its GPCs hold nor what its other
/// parts do. Nothing is resident where the profile has no measured products of the library.
PricedGemm chosen_nearby(const Profile& profile, const GemmProblem& problem,
                         const SmBudget& budget) {
  const SmBudget counted = budget.is_part() ? SmBudget::of(budget.sms()) : budget;
  const GemmPricer pricer(profile, problem, counted);
  const std::vector<MeasuredProducts>& grids = measured_on(profile, budget);
  const bool on_parts = budget.is_part() && !profile.gemm->measured_on_parts.empty();
  // Where none was measured on a part of so many SMs.
  const bool divides_sms =
      budget.is_part() &&
      (!on_parts || std::none_of(grids.begin(), grids.end(), [&](const MeasuredProducts& grid) {
        return grid.library == problem.library && grid.sms == budget.sms();
      }));
  const auto octaves = [](std::int64_t a, std::int64_t b) {
    return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
  };
  std::vector<std::pair<double, const MeasuredProduct*>> near;
  for (const MeasuredProducts& grid : grids) {
    if (grid.library != problem.library) continue;
    const double apart = octaves(grid.n, problem.n) + kDepthWeight * octaves(grid.k, problem.k) +
                         kSmsWeight * octaves(grid.sms, budget.sms());
    for (const MeasuredProduct& row : grid.rows) {
      near.emplace_back(apart + octaves(row.m, problem.m), &row);
    }
  }
  const auto end = near.begin() + static_cast<std::ptrdiff_t>(std::min(
                                      on_parts ? kSpeakersOnParts : kSpeakers, near.size()));
  // Rows that are equally near in the order of the profile.
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  PricedGemm best;
  for (auto one = near.begin(); one != end; ++one) {
    const MeasuredProduct& row = *one->second;
    GemmTile kernel = kernel_of(row, profile);
    if (divides_sms) kernel = with_clusters_of(kernel, problem.m, budget.sms());
    const PricedGemm now = pricer.price(kernel, row.split_k);
    if (now.time < best.time) best = now;
  }
  return best;
}

/// The SMs that a measured row on so many was of: all that a kernel may count, or the first part of that size.
SmBudget of_measured_row(const Profile& profile, const SmBudget& budget) {
  if (!budget.is_part()) return budget;
  const GpuFigures& gpu = profile.gpu;
  if (!gpu.sms_per_gpc) return {budget.sms_per_gpc, 0, 1};
  const auto parts = static_cast<int>(gpu.sms.value / budget.sms());
  return {topology::sms_of_share(gpu.sms_per_gpc->value, 0, parts), 0, 1};
}

struct FromMeasured {
  PricedGemm priced;
  std::string choice;
};

/// The price carried over from measured rows of the same N, K and SM count; none where there are none, or
/// where the problem lies more than twice beyond them.
std::optional<FromMeasured> between_measured(const Profile& profile, const GemmProblem& problem,
                                             const SmBudget& budget, const GemmPricer& pricer) {
  const bool two_bytes = problem.input == DType::bf16 || problem.input == DType::fp16;
  if (!two_bytes || problem.output != problem.input || problem.power_limited) return std::nullopt;
  if (budget.is_part() && profile.gemm->measured_on_parts.empty()) return std::nullopt;
  const std::vector<MeasuredProducts>& grids = measured_on(profile, budget);
  const auto grid = std::find_if(grids.begin(), grids.end(), [&](const auto& one) {
    return one.library == problem.library && one.n == problem.n && one.k == problem.k &&
           one.sms == budget.sms() && !one.rows.empty();
  });
  if (grid == grids.end()) return std::nullopt;
  // Rows are of products alone: those that follow others find another clock, and parts share the device.
  const SmBudget by_itself = of_measured_row(profile, budget);
  const auto beside_others = [&](const PricedGemm& priced) {
    if (!problem.follows_others && by_itself == budget) return 1.0;
    GemmProblem alone = problem;
    alone.follows_others = false;
    return priced.time /
           GemmPricer(profile, alone, by_itself).price(priced.kernel, priced.split).time;
  };
  const auto above =
      std::lower_bound(grid->rows.begin(), grid->rows.end(), problem.m,
                       [](const MeasuredProduct& row, std::int64_t m) { return row.m < m; });
  if (above != grid->rows.end() && above->m == problem.m) {
    const PricedGemm priced = pricer.price(kernel_of(*above, profile), above->split_k);
    if (priced.resident == 0) return std::nullopt;
    return FromMeasured{pricer.stretched(priced, seconds_of(above->time) * beside_others(priced)),
                        "measured: " + describe(priced.kernel, priced.split)};
  }
  std::vector<const MeasuredProduct*> around;
  if (above != grid->rows.begin()) around.push_back(&*(above - 1));
  if (above != grid->rows.end()) around.push_back(&*above);
  // How far a neighbour is, in octaves of m.
  const auto octaves = [&](const MeasuredProduct& row) {
    return std::abs(std::log2(static_cast<double>(row.m) / static_cast<double>(problem.m)));
  };
  if (around.size() == 1 && octaves(*around[0]) > 1) return std::nullopt;
  double weights = 0, log_ratio = 0;
  PricedGemm best;
  for (const MeasuredProduct* row : around) {
    GemmProblem there = problem;
    there.m = row->m;
    there.follows_others = false;
    const GemmTile kernel = kernel_of(*row, profile);
    const PricedGemm modelled = GemmPricer(profile, there, by_itself).price(kernel, row->split_k);
    if (modelled.resident == 0) return std::nullopt;
    const double weight = 1 / octaves(*row);
    weights += weight;
    log_ratio += weight * std::log(seconds_of(row->time) / modelled.time);
    const PricedGemm here = pricer.price(kernel, row->split_k);
    if (here.time < best.time) best = here;
  }
  // Far from both neighbours the library has another kernel by then.
  const PricedGemm near = chosen_nearby(profile, problem, budget);
  const PricedGemm like_it =
      budget.is_part() && near.resident > 0 ? pricer.price(near.kernel, near.split) : near;
  if (like_it.time < best.time) best = like_it;
  if (best.resident == 0) return std::nullopt;
  const double ratio = std::exp(log_ratio / weights);
  return FromMeasured{pricer.stretched(best, best.time * ratio),
                      "carried over from the measured grid: " + describe(best.kernel, best.split)};
}

}  // namespace

std::vector<GemmTile> gemm_tiles(const Profile& profile, GemmLibrary library) {
  if (library == GemmLibrary::cublaslt) {
    return profile.gemm ? profile.gemm->tiles : std::vector<GemmTile>{};
  }
  std::vector<GemmTile> tiles;
  for (const auto& tile : kernels::shapes::tiles) tiles.push_back(from_table(tile));
  return tiles;
}

GemmCost gemm_cost(const Profile& profile, const GemmProblem& problem, const SmBudget& budget,
                   const GemmTile& kernel, std::int64_t split_k) {
  check(problem, budget);
  const GemmPricer pricer(profile, problem, budget);
  const PricedGemm priced = pricer.price(kernel, split_k);
  if (priced.resident == 0) {
    throw std::domain_error(fmt::format("no cluster of {} CTAs fits the {} SMs that are free",
                                        kernel.cluster_m * kernel.cluster_n, budget.sms()));
  }
  return pricer.finish(priced, "given: " + describe(kernel, split_k));
}

GemmCost gemm_cost(const Profile& profile, const GemmProblem& problem, const SmBudget& budget) {
  check(problem, budget);
  const GemmPricer pricer(profile, problem, budget);
  if (problem.library == GemmLibrary::ours) {
    namespace shapes = kernels::shapes;
    const int chosen =
        shapes::choose_tile(static_cast<int>(problem.m), static_cast<int>(problem.n),
                            static_cast<int>(problem.k), static_cast<int>(budget.sms()));
    const shapes::Tile& entry = shapes::tiles[static_cast<std::size_t>(chosen)];
    const GemmTile tile = from_table(entry);
    const PricedGemm priced = pricer.price(tile, entry.parts());
    if (priced.resident > 0) {
      return pricer.finish(priced, "our chooser's fewest cycles: " + describe(tile, entry.parts()));
    }
    // The chooser counts SMs, and not whether a GPC has room for its clusters.
    const PricedGemm fits = cheapest(gemm_tiles(profile, problem.library), problem, pricer);
    return pricer.finish(
        fits, "least modelled time of our tiles that fit: " + describe(fits.kernel, fits.split));
  }
  if (const auto measured = between_measured(profile, problem, budget, pricer)) {
    return pricer.finish(measured->priced, measured->choice);
  }
  const PricedGemm chosen = chosen_nearby(profile, problem, budget);
  if (chosen.resident > 0) {
    const PricedGemm like_it = pricer.price(chosen.kernel, chosen.split);
    if (like_it.resident > 0) {
      return pricer.finish(like_it,
                           "least modelled time of the kernels that the library took for "
                           "products like it: " +
                               describe(like_it.kernel, like_it.split));
    }
  }
  const PricedGemm best = cheapest(profile.gemm->tiles, problem, pricer);
  if (best.resident == 0) {
    throw MissingConstant(
        fmt::format("profile \"{}\" lists no kernel of its GEMM library that fits {} SMs",
                    profile.name, budget.sms()));
  }
  return pricer.finish(
      best, "least modelled time of the library's tiles: " + describe(best.kernel, best.split));
}

}  // namespace weft::model
