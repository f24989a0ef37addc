// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/flag_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <fmt/format.h>

#include "calibration/fit/product_sample.hpp"
#include "models/cost/tile_flags.hpp"
#include "sim/units/integer.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_products = 5;
/// Between which a flag's time is looked for, and how closely.
constexpr Duration longest_flag = Duration::from_ps(12'000'000);
constexpr Duration step_of_flag = Duration::from_ps(20'000);

/// Weights that stay in the L2 are not read again in the order of the chunks.
bool keeps_weights(const model::Profile& profile, const Shape& shape) {
  constexpr std::int64_t bytes_of_bf16 = 2;
  return 2 * bytes_of_bf16 * shape.n * shape.k <= profile.gpu.l2_size.value.count();
}

std::string product_name(const Case& what) {
  const Shape& s = *what.shape;
  // Of one suite: others rest longer between repetitions.
  return fmt::format("{} {} {} {} {} {}", what.suite, what.library, what.operation, s.m, s.n, s.k);
}

/// A product whose tiles post flags beside the same product without.
struct Pair {
  Duration alone, flagged;
  model::GemmTile kernel;
  std::int64_t waves = 1;
  Duration tile;
  double chunks = 1;  ///< that a tile's rows lie in
};

/// What the product takes by the model, if a flag takes so long.
double flagged_ps(const model::Profile& profile, const Pair& pair, Duration flag) {
  const Duration behind = model::behind_tile(profile, pair.kernel, flag, pair.chunks);
  const Duration exposed = model::exposed_behind(pair.kernel, behind, pair.tile) * (pair.waves - 1);
  return static_cast<double>((pair.alone + behind + exposed).ps());
}

}  // namespace

model::Profile fit_tile_flags(model::Profile profile, const std::vector<Observation>& samples) {
  std::map<std::string, const Observation*> alone;
  const auto is_of = [](const Observation& seen, const char* figure) {
    const Case& what = seen.what();
    return !seen.published && what.figure == figure && what.operation == "gemm_rs" &&
           what.backend == "host_link" && what.shape && !what.pass && what.ranks == 2;
  };
  for (const Observation& seen : samples) {
    if (is_of(seen, "A")) alone[product_name(seen.what())] = &seen;
  }
  std::vector<Pair> pairs;
  for (const Observation& seen : samples) {
    const Case& what = seen.what();
    if (!is_of(seen, "A_s") || what.schedule != "device_flag" || what.transport != "copy_engine" ||
        !what.variant.empty())
      continue;
    const auto found = alone.find(product_name(what));
    const Kernel& kernel = seen.sample->kernel;
    if (found == alone.end() || kernel.tile.size() != 3 || kernel.cluster.size() != 2 ||
        kernel.grid <= 0 || !keeps_weights(profile, *what.shape))
      continue;
    Pair pair;
    pair.alone = found->second->time();
    pair.flagged = seen.time();
    pair.kernel = kernel_of(kernel);
    const Shape& shape = *what.shape;
    pair.waves =
        model::waves_of(divide_up(shape.m, pair.kernel.tile_m) *
                            divide_up(shape.n, pair.kernel.tile_n) * std::max(1, kernel.split_k),
                        kernel.grid);
    pair.tile = product_cost(profile, *seen.sample, true).tile_time();
    pair.chunks = model::chunks_of_tile(
        shape.m, model::rows_of_a_store(pair.kernel),
        divide_up(divide_up(shape.m, std::int64_t{*what.ranks}), what.chunks.value_or(1)));
    pairs.push_back(pair);
  }
  if (pairs.size() < least_products) return profile;
  Duration best;
  double least = std::numeric_limits<double>::infinity();
  for (Duration flag; flag <= longest_flag; flag += step_of_flag) {
    double sum = 0;
    for (const Pair& pair : pairs)
      sum += std::abs(
          std::log(flagged_ps(profile, pair, flag) / static_cast<double>(pair.flagged.ps())));
    if (sum < least) {
      least = sum;
      best = flag;
    }
  }
  profile.control.tile_flag = {
      best,
      {model::SourceKind::fitted,
       fmt::format("{} reductions whose tiles post flags, over the products alone, +-{:.1f} %",
                   pairs.size(), 100 * least / static_cast<double>(pairs.size()))}};
  return profile;
}

}  // namespace weft::calibration
