// SPDX-License-Identifier: Apache-2.0
#include "models/cost/gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/core.h>

#include "kernels/shapes/choose.hpp"
#include "kernels/shapes/table.hpp"

namespace weft::model {

std::int64_t SmBudget::sms() const {
  return std::accumulate(sms_per_gpc.begin(), sms_per_gpc.end(), std::int64_t{0});
}

std::int64_t SmBudget::resident_ctas(std::int64_t cluster) const {
  std::int64_t clusters = 0;
  for (const int sms : sms_per_gpc) clusters += sms / cluster;
  return clusters * cluster;
}

namespace {

/// A candidate in plain numbers, seconds and bytes; the chosen one becomes a GemmCost.
struct Priced {
  const GemmTile* kernel = nullptr;
  std::int64_t split = 1, tiles = 0, resident = 0, waves = 0, steps = 0;
  double prologue = 0, main_loop = 0, epilogue = 0, reduction = 0;
  double clock = 1, hbm_bytes = 0, l2_bytes = 0, time = std::numeric_limits<double>::infinity();
};

double seconds(Duration time) {
  return static_cast<double>(time.ps()) * 1e-12;
}
/// Up to the next picosecond; a thousandth of one is the rounding of doubles, not time.
Duration rounded_up(double time) {
  const double ps = std::ceil(time * 1e12 - 1e-3);
  if (!(ps < 9e18)) throw std::overflow_error("a GEMM that takes more than 104 days");
  return Duration::from_ps(static_cast<std::int64_t>(ps));
}
double per_second(Bandwidth rate) {
  return static_cast<double>(rate.bytes_per_second());
}

class Pricer {
 public:
  Pricer(const Profile& profile, const GemmProblem& problem, const SmBudget& budget)
      : profile_(profile), problem_(problem), budget_(budget) {
    if (!profile.gemm) {
      throw MissingConstant(fmt::format("profile \"{}\" has no GEMM constants", profile.name));
    }
    const double sms = static_cast<double>(profile.gpu.sms.value);
    const auto& g = *profile.gemm;
    sm_rate_ = static_cast<double>(profile.matrix_rate(problem.input).value.flops_per_second()) /
               sms * g.matrix_efficiency.value;
    hbm_rate_ = per_second(profile.gpu.hbm.value) * g.hbm_efficiency.value;
    l2_rate_ = per_second(profile.gpu.l2.value) * g.l2_efficiency.value;
    in_ = bits_of(problem.input) / 8.0;
    out_ = bits_of(problem.output) / 8.0;
  }

  [[nodiscard]] Priced price(const GemmTile& kernel, std::int64_t split) const {
    const auto& g = *profile_.gemm;
    Priced p;
    p.kernel = &kernel;
    p.split = split;
    const std::int64_t cluster = kernel.cluster_m * kernel.cluster_n;
    p.resident = budget_.resident_ctas(cluster);
    if (p.resident == 0) return p;
    // Clusters are whole: a tile beyond the edge still holds its CTA.
    const std::int64_t rows =
        divide_up(divide_up(problem_.m, kernel.tile_m), kernel.cluster_m) * kernel.cluster_m;
    const std::int64_t columns =
        divide_up(divide_up(problem_.n, kernel.tile_n), kernel.cluster_n) * kernel.cluster_n;
    p.tiles = rows * columns * split;
    p.waves = waves_of(p.tiles, p.resident);
    p.steps = divide_up(problem_.k, kernel.tile_k * split);

    const double tm = static_cast<double>(kernel.tile_m), tn = static_cast<double>(kernel.tile_n);
    const double tk = static_cast<double>(kernel.tile_k);
    const double busy_ctas = static_cast<double>(std::min(p.tiles, p.resident));
    const double l2_step =
        (tm / static_cast<double>(kernel.cluster_n) + tn / static_cast<double>(kernel.cluster_m)) *
        tk * in_;
    const double matrix = 2 * tm * tn * tk / sm_rate_;
    const double step = std::max(matrix + seconds(g.step.value), l2_step * busy_ctas / l2_rate_);
    p.prologue = seconds(g.prologue.value);
    p.main_loop = static_cast<double>(p.steps) * step;
    const double store = tm * tn * (split == 1 ? out_ : 4.0);
    p.epilogue = g.epilogue_exposed.value * store * busy_ctas / hbm_rate_;
    if (split > 1) {
      const double partials = static_cast<double>(problem_.m) * static_cast<double>(problem_.n) *
                              4 * static_cast<double>(split);
      p.reduction = p.prologue + partials / l2_rate_;
    }
    p.hbm_bytes = hbm_bytes(kernel, p);
    p.l2_bytes = l2_step * static_cast<double>(p.steps) + store;

    const double tile = p.prologue + p.main_loop + p.epilogue;
    const double compute = static_cast<double>(p.waves) * tile;
    const double memory = p.hbm_bytes / hbm_rate_;
    const double busy = static_cast<double>(p.tiles) / static_cast<double>(profile_.gpu.sms.value) *
                        static_cast<double>(p.steps) * matrix / std::max(compute, memory);
    p.clock = 1 - (1 - g.sustained_clock.value) * std::min(1.0, busy);
    p.time = seconds(g.start.value) + std::max(compute / p.clock, memory) + p.reduction;
    return p;
  }

  /// Bytes that HBM sees. A wave covers r x c tiles, as square as it can be; rows of A stay in the L2 while a
  /// band of r tiles is walked if they fill no more than half of it; A and B are read once if both fit.
  [[nodiscard]] double hbm_bytes(const GemmTile& kernel, const Priced& p) const {
    const double m = static_cast<double>(problem_.m), n = static_cast<double>(problem_.n);
    const double k = static_cast<double>(problem_.k);
    const double tm = static_cast<double>(kernel.tile_m), tn = static_cast<double>(kernel.tile_n);
    const double output = m * n * out_ + (p.split > 1 ? m * n * 8 : 0);
    const double once = (m + n) * k * in_;
    const double half_l2 = static_cast<double>(profile_.gpu.l2_size.value.count()) / 2;
    if (once <= half_l2) return once + output;
    const double together = static_cast<double>(p.resident);
    const double band = std::clamp(std::sqrt(together * tn / tm), 1.0, together) * tm;
    const double across = together * tm / band * tn;
    const double bands = std::ceil(m / band);
    const bool band_stays = band * k * in_ <= half_l2;
    const double loads = (bands * n + (band_stays ? 1.0 : std::ceil(n / across)) * m) * k * in_;
    return std::max(once, loads) + output;
  }

  [[nodiscard]] GemmCost finish(const Priced& p, std::string choice) const {
    const auto& g = *profile_.gemm;
    GemmCost cost;
    cost.kernel = *p.kernel;
    cost.split_k = p.split;
    cost.footprint = {
        .threads = static_cast<int>(p.kernel->threads),
        .registers = static_cast<int>(p.kernel->threads * p.kernel->registers_per_thread),
        .shared_memory = p.kernel->shared_memory};
    cost.tiles = p.tiles;
    cost.resident = p.resident;
    cost.grid = p.kernel->persistent ? std::min(p.tiles, p.resident) : p.tiles;
    cost.waves = p.waves;
    cost.k_steps = p.steps;
    cost.start = g.start.value;
    cost.clock = p.clock;
    cost.prologue = rounded_up(p.prologue / p.clock);
    cost.main_loop = rounded_up(p.main_loop / p.clock);
    cost.epilogue = rounded_up(p.epilogue / p.clock);
    cost.reduction = rounded_up(p.reduction);
    const double tiles = static_cast<double>(p.tiles);
    cost.hbm_per_tile = Bytes::from(static_cast<std::int64_t>(std::ceil(p.hbm_bytes / tiles)));
    cost.l2_per_tile = Bytes::from(static_cast<std::int64_t>(std::ceil(p.l2_bytes)));
    // From the rounded parts, so that a simulated run of the tiles alone agrees to the picosecond.
    cost.time = cost.start +
                std::max(cost.tile_time() * cost.waves, rounded_up(p.hbm_bytes / hbm_rate_)) +
                cost.reduction;
    // What the search left to its limit says nothing alone: the clock took the rest.
    cost.source = weaker(weaker(g.sustained_clock.source.kind, g.prologue.source.kind),
                         p.kernel->source.kind);
    // The rows that constants are fitted to are of 2-byte floats (calibration/fit/gemm_fit.hpp).
    if (problem_.input != DType::bf16 && problem_.input != DType::fp16) {
      cost.source = SourceKind::assumed;
    }
    cost.choice = std::move(choice);
    return cost;
  }

 private:
  const Profile& profile_;
  const GemmProblem& problem_;
  const SmBudget& budget_;
  double sm_rate_ = 1, hbm_rate_ = 1, l2_rate_ = 1, in_ = 2, out_ = 2;
};

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
          .source = {SourceKind::measured, "kernels/shapes, compiled as declared"}};
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
  const Pricer pricer(profile, problem, budget);
  const Priced priced = pricer.price(kernel, split_k);
  if (priced.resident == 0) {
    throw std::domain_error(fmt::format("no cluster of {} CTAs fits the {} SMs that are free",
                                        kernel.cluster_m * kernel.cluster_n, budget.sms()));
  }
  return pricer.finish(priced, "given: " + describe(kernel, split_k));
}

GemmCost gemm_cost(const Profile& profile, const GemmProblem& problem, const SmBudget& budget) {
  check(problem, budget);
  const Pricer pricer(profile, problem, budget);
  if (problem.library == GemmLibrary::ours) {
    namespace shapes = kernels::shapes;
    const int chosen =
        shapes::choose_tile(static_cast<int>(problem.m), static_cast<int>(problem.n),
                            static_cast<int>(problem.k), static_cast<int>(budget.sms()));
    const shapes::Tile& entry = shapes::tiles[static_cast<std::size_t>(chosen)];
    const GemmTile tile = from_table(entry);
    return pricer.finish(pricer.price(tile, entry.split_k),
                         "our chooser's fewest cycles: " + describe(tile, entry.split_k));
  }
  Priced best;
  for (const GemmTile& kernel : profile.gemm->tiles) {
    for (const std::int64_t split : {1, 2, 4, 8}) {
      // The library splits K only where whole tiles leave SMs idle and each part still has a loop to run.
      if (split > 1 && problem.k < split * 8 * kernel.tile_k) break;
      const Priced now = pricer.price(kernel, split);
      if (now.time < best.time) best = now;
      if (now.tiles > now.resident) break;
    }
  }
  if (best.kernel == nullptr) {
    throw MissingConstant(
        fmt::format("profile \"{}\" lists no kernel of its GEMM library that fits {} SMs",
                    profile.name, budget.sms()));
  }
  return pricer.finish(
      best, "least modelled time of the library's tiles: " + describe(*best.kernel, best.split));
}

}  // namespace weft::model
