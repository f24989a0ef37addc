// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/flag_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "calibration/fit/least_squares.hpp"
#include "calibration/fit/microseconds.hpp"
#include "calibration/fit/product_sample.hpp"
#include "models/cost/tile_flags.hpp"
#include "sim/units/integer.hpp"

namespace weft::calibration {

namespace {

/// Fewer say nothing.
constexpr std::size_t least_products = 5;
/// Of a constant's standard error, as a fraction: one that is known less closely is not kept.
constexpr double most_uncertain = 0.5;
/// Errors beyond this pull no harder.
constexpr double pull_ends = 0.05;

/// Weights that stay in the L2 are not read again in the order of the chunks.
bool keeps_weights(const model::Profile& profile, const Shape& shape) {
  constexpr std::int64_t bytes_of_bf16 = 2;
  return 2 * bytes_of_bf16 * shape.n * shape.k <= profile.gpu.l2_size.value.count();
}

bool is_known(const Kernel& kernel) {
  return kernel.tile.size() == 3 && kernel.cluster.size() == 2 && kernel.grid > 0;
}

std::string product_name(const Case& what) {
  const Shape& s = *what.shape;
  // Of one suite: others rest longer between repetitions.
  return fmt::format("{} {} {} {} {} {} {}", what.suite, what.backend, what.library, *what.ranks,
                     s.m, s.n, s.k);
}

/// A product whose tiles post flags beside the same product without.
struct Pair {
  Duration alone, flagged;
  model::GemmTile kernel;
  std::int64_t split = 1, waves = 1;
  Duration tile;
  double chunks = 1;  ///< that a tile's rows lie in
};

/// What the product takes by the model.
double flagged_ps(const model::Profile& profile, const Pair& pair) {
  const Duration behind = model::behind_tile(profile, pair.kernel, pair.split, pair.chunks);
  const Duration shown = model::shown_behind(profile, pair.kernel, pair.split, behind);
  const Duration exposed = model::exposed_behind(pair.kernel, behind, pair.tile) * (pair.waves - 1);
  return static_cast<double>((pair.alone + shown + exposed).ps());
}

Pair pair_of(const model::Profile& profile, const Observation& alone, const Observation& flagged) {
  const Sample& sample = *flagged.sample;
  const Case& what = sample.what;
  const Shape& shape = *what.shape;
  const model::GemmCost price = product_cost(profile, sample, true);
  Pair pair;
  pair.alone = alone.time() + price.time - product_cost(profile, *alone.sample, true).time;
  pair.flagged = flagged.time();
  pair.kernel = kernel_of(sample.kernel);
  pair.split = std::max(1, sample.kernel.split_k);
  pair.waves = model::waves_of(
      divide_up(shape.m, pair.kernel.tile_m) * divide_up(shape.n, pair.kernel.tile_n) * pair.split,
      sample.kernel.grid);
  pair.tile = price.tile_time();
  pair.chunks = model::chunks_of_tile(
      shape.m, model::rows_of_a_store(pair.kernel),
      divide_up(divide_up(shape.m, std::int64_t{*what.ranks}), what.chunks.value_or(1)));
  return pair;
}

std::vector<Pair> pairs_in(const model::Profile& profile, const std::vector<Observation>& samples) {
  const auto is_of = [&](const Observation& seen, const char* figure) {
    const Case& what = seen.what();
    return !seen.published && what.figure == figure && what.operation == "gemm_rs" &&
           what.library == "weft" && (what.backend == "host_link" || what.backend == "peer_gpus") &&
           what.variant.empty() && what.shape && what.ranks && !what.pass &&
           is_known(seen.sample->kernel) && keeps_weights(profile, *what.shape);
  };
  std::map<std::string, const Observation*> alone;
  for (const Observation& seen : samples) {
    if (is_of(seen, "A")) alone[product_name(seen.what())] = &seen;
  }
  std::vector<Pair> pairs;
  for (const Observation& seen : samples) {
    if (!is_of(seen, "A_s") || seen.what().schedule != "device_flag") continue;
    const auto found = alone.find(product_name(seen.what()));
    if (found != alone.end()) pairs.push_back(pair_of(profile, *found->second, seen));
  }
  return pairs;
}

/// The constants of a tile's flag and, where it is asked for, of a store slot; none where the pairs leave one open.
std::optional<model::ControlCosts> fitted(const model::Profile& profile,
                                          const std::vector<Pair>& pairs, bool by_slots) {
  model::Profile trial = profile;
  const model::Source made{model::SourceKind::fitted, ""};
  const auto set = [&](std::span<const double> v) {
    trial.control.tile_flag = {from_microseconds(v[0]), made};
    trial.control.store_slot.reset();
    if (by_slots) trial.control.store_slot = {from_microseconds(v[1]), made};
  };
  LeastSquaresProblem problem;
  problem.parameters = {{"tile_flag", 3, 0.01, 100}};
  if (by_slots) problem.parameters.push_back({"store_slot", 0.5, 0.001, 100});
  problem.knee = pull_ends;
  problem.residuals = [&](std::span<const double> v) {
    set(v);
    std::vector<double> residuals;
    for (const Pair& pair : pairs)
      residuals.push_back(
          std::log(flagged_ps(trial, pair) / static_cast<double>(pair.flagged.ps())));
    return residuals;
  };
  const LeastSquaresResult result = minimise(problem);
  for (std::size_t i = 0; i < problem.parameters.size(); ++i) {
    if (!result.determined[i] || result.at_bound[i] || result.relative_errors[i] > most_uncertain)
      return std::nullopt;
  }
  set(result.values);
  const auto say = [&](model::Sourced<Duration>& constant, const char* what, std::size_t i) {
    constant.source.reference = fmt::format(
        "{} of {} reductions whose tiles post flags, over the products alone, +-{:.1f} %", what,
        pairs.size(), 100 * result.relative_errors[i]);
  };
  say(*trial.control.tile_flag, "chunks of a tile", 0);
  if (by_slots) say(*trial.control.store_slot, "store slots of a tile", 1);
  return trial.control;
}

}  // namespace

model::Profile fit_tile_flags(model::Profile profile, const std::vector<Observation>& samples) {
  const std::vector<Pair> pairs = pairs_in(profile, samples);
  if (pairs.size() < least_products) return profile;
  std::optional<model::ControlCosts> control = fitted(profile, pairs, true);
  if (!control) control = fitted(profile, pairs, false);
  if (control) profile.control = *control;
  return profile;
}

}  // namespace weft::calibration
