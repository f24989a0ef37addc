// SPDX-License-Identifier: Apache-2.0
#include "models/cost/gemm_pricer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/core.h>

#include "models/cost/own_tile.hpp"

namespace weft::model {

namespace {

double fourth_power(double x) {
  const double square = x * x;
  return square * square;
}
double eighth_power(double x) {
  return fourth_power(x) * fourth_power(x);
}

/// Limits that are equally near cost more than either alone: an exponent of 8 rounds the corner of two by 9 %, of
/// 4 by 19 %. Of 2, 3, 4, 8 and 12 these left the least error on one H200: loads wait for each other more than
/// multiplications wait for loads.
template <class... Terms>
double greatest_of_loads(Terms... terms) {
  const double most = std::max({terms...});
  if (most <= 0) return 0;
  return most * std::sqrt(std::sqrt((fourth_power(terms / most) + ...)));
}
double greatest_of(double matrix, double loads) {
  const double most = std::max(matrix, loads);
  if (most <= 0) return 0;
  return most *
         std::sqrt(std::sqrt(std::sqrt(eighth_power(matrix / most) + eighth_power(loads / most))));
}

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

/// Of the parts of K that one of our kernels sums, those that CTAs of one cluster do: others are spread over
/// clusters, as all are in the library's kernels.
std::int64_t partners_in_cluster(const GemmTile& kernel, std::int64_t split) {
  const kernels::shapes::Tile* tile = own_tile(kernel, split);
  return tile != nullptr ? tile->split_k : split;
}

}  // namespace

double store_seconds(const Profile& profile, double bytes) {
  return bytes * static_cast<double>(profile.gpu.sms.value) /
         (per_second(profile.gpu.hbm.value) * profile.gemm->hbm_efficiency.value);
}

double drain_seconds(const Profile& profile, double bytes) {
  if (!profile.gemm || !profile.gemm->drain) return 0;
  return profile.gemm->drain->value * store_seconds(profile, bytes);
}

GemmPricer::GemmPricer(const Profile& profile, const GemmProblem& problem, const SmBudget& budget)
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
  sharers_ = budget.sharers();
  in_ = bits_of(problem.input) / 8.0;
  out_ = bits_of(problem.output) / 8.0;
}

const KernelCorrection* GemmPricer::correction(const GemmTile& kernel, std::int64_t split) const {
  for (const KernelCorrection& c : profile_.gemm->corrections) {
    if (c.library == problem_.library && c.tile_m == kernel.tile_m && c.tile_n == kernel.tile_n &&
        c.cluster_m == kernel.cluster_m && c.cluster_n == kernel.cluster_n && c.split_k == split) {
      return &c;
    }
  }
  return nullptr;
}

/// The CTAs that a library launches, tiles permitting: what fits a device; of a partition, whose GPCs it cannot see,
/// what its SMs would hold if they were one.
std::int64_t GemmPricer::launched(std::int64_t cluster, std::int64_t resident) const {
  if (problem_.library == GemmLibrary::ours || !budget_.is_part()) return resident;
  return std::max(resident, budget_.sms() / cluster * cluster);
}

/// Rows of a tile that lie beyond the edge of X, in a mean turn of the CTA that has most of them: loads fill them with
/// zeros row by row, which takes an SM as long however many others do the same.
double GemmPricer::beyond_the_edge(const GemmTile& kernel, std::int64_t waves) const {
  const std::int64_t rows = divide_up(problem_.m, kernel.tile_m);
  const std::int64_t turns = divide_up(waves, rows);
  return static_cast<double>((rows * kernel.tile_m - problem_.m) * turns) /
         static_cast<double>(waves);
}

PricedGemm GemmPricer::price(const GemmTile& kernel, std::int64_t split) const {
  const auto& g = *profile_.gemm;
  const bool own = problem_.library == GemmLibrary::ours && g.own.has_value();
  PricedGemm p;
  p.kernel = kernel;
  p.split = split;
  const KernelCorrection* special = correction(kernel, split);
  p.start = seconds(special != nullptr ? special->start : own ? g.own->start.value : g.start.value);
  const std::int64_t partners =
      problem_.library == GemmLibrary::ours ? partners_in_cluster(kernel, split) : 1;
  const std::int64_t cluster = kernel.cluster_m * kernel.cluster_n * partners;
  // A grid of a CTA a tile takes every SM there is: only a persistent kernel's grid leaves some free.
  p.resident = kernel.persistent ? budget_.resident_ctas(cluster)
                                 : SmBudget{budget_.sms_per_gpc, 0, 0}.resident_ctas(cluster);
  if (p.resident == 0) return p;
  // Clusters are whole: a tile beyond the edge still holds its CTA.
  const std::int64_t rows =
      divide_up(divide_up(problem_.m, kernel.tile_m), kernel.cluster_m) * kernel.cluster_m;
  const std::int64_t columns =
      divide_up(divide_up(problem_.n, kernel.tile_n), kernel.cluster_n) * kernel.cluster_n;
  p.tiles = rows * columns * split;
  p.launched = std::min(p.tiles, launched(cluster, p.resident));
  // Clusters that find no room come when others leave, each with a tile of its own to do.
  const std::int64_t late = std::max<std::int64_t>(0, p.launched - p.resident);
  p.waves = waves_of(p.tiles - late, p.resident) + waves_of(late, p.resident);
  p.steps = divide_up(problem_.k, kernel.tile_k * split);

  const double tm = static_cast<double>(kernel.tile_m), tn = static_cast<double>(kernel.tile_n);
  const double tk = static_cast<double>(kernel.tile_k);
  const double sms = static_cast<double>(profile_.gpu.sms.value);
  const double busy_ctas = static_cast<double>(std::min(p.tiles, p.resident));
  const double rounds = static_cast<double>(p.waves * p.steps);
  p.hbm_bytes = hbm_bytes(kernel, p);
  const double l2_step =
      (tm / static_cast<double>(kernel.cluster_n) + tn / static_cast<double>(kernel.cluster_m)) *
      tk * in_;
  const double multiply = 2 * tm * tn * tk / sm_rate_;
  const double traffic = special != nullptr ? special->traffic : 1;
  const double matrix =
      (multiply + seconds(g.step.value)) * (special != nullptr ? special->step : 1);
  // What comes from HBM is written into the L2 before it is read from there.
  const double through_l2 = l2_step * busy_ctas + p.hbm_bytes / rounds;
  const double overhang =
      own ? beyond_the_edge(kernel, p.waves) * seconds(g.overhang_row.value) : 0.0;
  const double loads = greatest_of_loads(
      traffic * through_l2 * sharers_ / l2_rate_ + overhang,
      seconds(g.load_latency.value) / static_cast<double>(std::max<std::int64_t>(1, kernel.stages)),
      p.hbm_bytes / hbm_rate_ / rounds);
  const double step = greatest_of(matrix, loads);
  const double store = tm * tn * (split == 1 ? out_ : 4.0);
  const double exposed = kernel.overlaps_epilogue ? 0
                         : own                    ? g.own->epilogue_exposed.value
                                                  : g.epilogue_exposed.value;
  p.prologue = seconds(special != nullptr ? special->turn : g.prologue.value);
  p.main_loop = static_cast<double>(p.steps) * step;
  p.epilogue = exposed * store_seconds(profile_, store);
  if (split > 1) {
    const double partials = static_cast<double>(problem_.m) * static_cast<double>(problem_.n) * 4 *
                            static_cast<double>(split);
    p.reduction = seconds(g.split_reduction.value) + partials / l2_rate_;
  }
  // The last CTA out waits for its store, which no tile follows.
  p.start += drain_seconds(profile_, store);
  p.l2_bytes = l2_step * static_cast<double>(p.steps) + store;

  const double work = static_cast<double>(p.waves) * (p.prologue + p.main_loop + p.epilogue);
  const double busy =
      static_cast<double>(p.tiles) / sms * static_cast<double>(p.steps) * multiply / work;
  p.clock = work / at_its_clock(work, std::min(1.0, busy * sharers_));
  p.time = p.start + work / p.clock + p.reduction;
  return p;
}

double GemmPricer::at_its_clock(double work, double busy) const {
  const auto& g = *profile_.gemm;
  const auto clock = [&](double loaded, double exponent) {
    return 1 - (1 - loaded) * std::pow(busy, exponent);
  };
  const double settled =
      clock(problem_.power_limited ? g.power_limited_clock.value : g.sustained_clock.value,
            g.power_exponent.value);
  if (!g.answer || problem_.power_limited || problem_.follows_others) return work / settled;
  const double steep = g.answer->exponent.value_or(g.power_exponent).value;
  const double fresh = clock(g.answer->fresh_clock.value, steep);
  const double low = clock(g.answer->low_clock.value, steep);
  const double after = seconds(g.answer->after.value), lasts = seconds(g.answer->lasts.value);
  if (work <= after * fresh) return work / fresh;
  const double rest = work - after * fresh;
  if (rest <= lasts * low) return after + rest / low;
  return after + lasts + (rest - lasts * low) / settled;
}

PricedGemm GemmPricer::stretched(PricedGemm p, double seconds_wanted) const {
  const double work = p.time - p.start - p.reduction;
  double factor = (seconds_wanted - p.start - p.reduction) / work;
  if (factor < 0.1) {
    // Shorter than a launch and the joining of parts of K as modelled: all of it is shrunk alike.
    factor = seconds_wanted / p.time;
    p.start *= factor;
    p.reduction *= factor;
  }
  p.prologue *= factor;
  p.main_loop *= factor;
  p.epilogue *= factor;
  p.time = seconds_wanted;
  return p;
}

double hbm_bytes_walked(const Profile& profile, const GemmProblem& problem, const RowBands& walk) {
  const double m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const double k = static_cast<double>(problem.k);
  const double in = bits_of(problem.input) / 8.0, out = bits_of(problem.output) / 8.0;
  const double output = m * n * out + (walk.split > 1 ? m * n * 8 : 0);
  const double once = (m + n) * k * in;
  const double half_l2 = static_cast<double>(profile.gpu.l2_size.value.count()) / 2 / walk.sharers;
  if (once <= half_l2) return once + output;
  const double bands = std::ceil(m / walk.rows);
  const bool band_stays = walk.rows * k * in <= half_l2;
  const double loads = (bands * n + (band_stays ? 1.0 : std::ceil(n / walk.columns)) * m) * k * in;
  return std::max(once, loads) + output;
}

/// Our kernels walk groups of rows column by column, so that a wave covers as many columns as its CTAs are more than
/// the tiles of a group's column; of the library's, whose order is not known, a wave covers tiles as square as it can be.
double GemmPricer::hbm_bytes(const GemmTile& kernel, const PricedGemm& p) const {
  const double tm = static_cast<double>(kernel.tile_m), tn = static_cast<double>(kernel.tile_n);
  const double together = static_cast<double>(p.resident);
  RowBands walk{.split = p.split, .sharers = sharers_};
  walk.rows = std::clamp(std::sqrt(together * tn / tm), 1.0, together) * tm;
  // In a part's share of the L2 it matters that a band has no more rows than X; whole devices, whose L2 holds bands of
  // most shapes, are fitted without.
  if (budget_.is_part())
    walk.rows = std::min(walk.rows, std::ceil(static_cast<double>(problem_.m) / tm) * tm);
  walk.columns = together * tm / walk.rows * tn;
  if (problem_.library == GemmLibrary::ours) {
    walk.rows =
        std::min(static_cast<double>(problem_.m), static_cast<double>(kernels::shapes::group_rows));
    walk.columns = std::max(1.0, together * tm / static_cast<double>(p.split) / walk.rows) * tn;
  }
  return hbm_bytes_walked(profile_, problem_, walk);
}

bool GemmPricer::keeps_weights() const {
  if (!problem_.weights_there) return false;
  const double m = static_cast<double>(problem_.m), n = static_cast<double>(problem_.n);
  const double k = static_cast<double>(problem_.k);
  const double passes = (m + n) * k * in_ + m * n * out_;
  return passes * sharers_ <= static_cast<double>(profile_.gpu.l2_size.value.count());
}

GemmCost GemmPricer::finish(const PricedGemm& p, std::string choice) const {
  const auto& g = *profile_.gemm;
  GemmCost cost;
  cost.kernel = p.kernel;
  cost.split_k = p.split;
  cost.footprint = {.threads = static_cast<int>(p.kernel.threads),
                    .registers = static_cast<int>(p.kernel.threads * p.kernel.registers_per_thread),
                    .shared_memory = p.kernel.shared_memory};
  cost.tiles = p.tiles;
  cost.resident = p.resident;
  cost.grid = p.kernel.persistent ? p.launched : p.tiles;
  cost.waves = p.waves;
  cost.k_steps = p.steps;
  cost.start = rounded_up(p.start);
  cost.clock = p.clock;
  cost.prologue = rounded_up(p.prologue / p.clock);
  cost.main_loop = rounded_up(p.main_loop / p.clock);
  cost.epilogue = rounded_up(p.epilogue / p.clock);
  cost.reduction = rounded_up(p.reduction);
  const double tiles = static_cast<double>(p.tiles);
  cost.weights_kept = keeps_weights();
  cost.hbm_per_tile = Bytes::from(static_cast<std::int64_t>(std::ceil(p.hbm_bytes / tiles)));
  cost.l2_per_tile = Bytes::from(static_cast<std::int64_t>(std::ceil(p.l2_bytes)));
  // From the rounded parts, so that a simulated run of the tiles alone agrees to the picosecond.
  cost.time = cost.start +
              std::max(cost.tile_time() * cost.waves, rounded_up(p.hbm_bytes / hbm_rate_)) +
              cost.reduction;
  // What the search left to its limit says nothing alone: the clock took the rest.
  cost.source =
      weaker(weaker(g.sustained_clock.source.kind, g.prologue.source.kind), p.kernel.source.kind);
  // The rows that constants are fitted to are of 2-byte floats (calibration/fit/gemm_fit.hpp).
  if (problem_.input != DType::bf16 && problem_.input != DType::fp16) {
    cost.source = SourceKind::assumed;
  }
  cost.choice = std::move(choice);
  return cost;
}

}  // namespace weft::model
