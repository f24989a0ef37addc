// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/product_sample.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/shapes/table.hpp"
#include "models/cost/gemm_pricer.hpp"
#include "topologies/build.hpp"

namespace weft::calibration {

namespace {

using model::GemmLibrary;

constexpr std::string_view kBackToBack = "gemm-sustained";

/// Whether a kernel's consumers take turns at tiles: cuBLASLt's nvjet kernels do unless they are "coop", ours
/// by the table.
bool takes_turns(const Kernel& kernel) {
  for (const kernels::shapes::Tile& tile : kernels::shapes::tiles) {
    if (kernel.name.starts_with("sm90_bf16") && tile.m() == kernel.tile[0] &&
        tile.n() == kernel.tile[1] && tile.cluster_m == kernel.cluster[0] &&
        tile.cluster_n == kernel.cluster[1] && tile.split_k == std::max(1, kernel.split_k)) {
      return tile.split == kernels::shapes::Split::turns;
    }
  }
  return kernel.name.starts_with("nvjet") && kernel.name.find("coop") == std::string::npos;
}

GemmLibrary library_of(const Case& what) {
  return what.library == "weft" ? GemmLibrary::ours : GemmLibrary::cublaslt;
}

/// Whether a sample is a product whose kernel is known.
bool is_product_anywhere(const Observation& seen) {
  const Sample& s = *seen.sample;
  return !seen.published && s.what.operation == "gemm" && s.what.figure == "time" &&
         s.what.shape.has_value() && s.what.variant != "counter" && s.kernel.tile.size() == 3 &&
         s.kernel.cluster.size() == 2 && s.kernel.grid > 0;
}

model::GemmProblem problem_of(const Case& what) {
  const Shape& s = *what.shape;
  return {.m = s.m,
          .n = s.n,
          .k = s.k,
          .library = library_of(what),
          .power_limited = what.suite == kBackToBack};
}

}  // namespace

bool is_product(const Observation& seen) {
  return is_product_anywhere(seen) && seen.what().backend.empty();
}

bool is_product_on_part(const Observation& seen) {
  return is_product_anywhere(seen) && seen.what().backend == "virtual_ranks" &&
         seen.what().ranks.value_or(1) > 1;
}

model::SmBudget part_of_device(const model::GpuFigures& gpu, int parts) {
  const std::vector<int> gpcs =
      gpu.sms_per_gpc ? gpu.sms_per_gpc->value : std::vector<int>{static_cast<int>(gpu.sms.value)};
  return {topology::sms_of_share(gpcs, 0, parts), 0, 1};
}

bool has_throttled(const Sample& sample) {
  return 2 * sample.throttled.size() >= sample.times.size();
}

std::vector<Observation> products_in(const std::vector<Observation>& samples,
                                     bool (*wanted)(const Observation&)) {
  std::vector<Observation> rows;
  for (const Observation& seen : samples) {
    if (wanted(seen) && !has_throttled(*seen.sample)) {
      rows.push_back(seen);
    }
  }
  return rows;
}

model::GemmTile kernel_of(const Kernel& kernel) {
  model::GemmTile tile;
  tile.tile_m = kernel.tile.at(0);
  tile.tile_n = kernel.tile.at(1);
  tile.tile_k = kernel.tile.at(2);
  tile.stages = std::max(1, kernel.stages);
  tile.cluster_m = kernel.cluster.at(0);
  tile.cluster_n = kernel.cluster.at(1);
  tile.threads = std::max(1, kernel.threads);
  tile.persistent = true;
  tile.overlaps_epilogue = takes_turns(kernel);
  return tile;
}

model::GemmCost product_cost(const model::Profile& profile, const Sample& sample,
                             bool true_kernel) {
  const model::GemmProblem problem = problem_of(sample.what);
  if (!sample.what.backend.empty()) {
    const model::SmBudget part = part_of_device(profile.gpu, sample.what.ranks.value_or(1));
    return true_kernel ? gemm_cost(profile, problem, part, kernel_of(sample.kernel),
                                   std::max(1, sample.kernel.split_k))
                       : gemm_cost(profile, problem, part);
  }
  if (!true_kernel) {
    const auto sms = sample.what.sms.value_or(static_cast<int>(profile.gpu.sms.value));
    return gemm_cost(profile, problem, model::SmBudget::of(profile.gpu, sms));
  }
  return gemm_cost(profile, problem, model::SmBudget::of(sample.kernel.grid),
                   kernel_of(sample.kernel), std::max(1, sample.kernel.split_k));
}

std::vector<ProductSample> product_samples(const std::vector<Observation>& products,
                                           const model::GpuFigures& gpu) {
  std::vector<ProductSample> rows;
  for (const Observation& seen : products) {
    const Sample& sample = *seen.sample;
    const model::SmBudget budget = is_product_on_part(seen)
                                       ? part_of_device(gpu, *sample.what.ranks)
                                       : model::SmBudget::of(sample.kernel.grid);
    rows.push_back({problem_of(sample.what), budget, kernel_of(sample.kernel),
                    std::max(1, sample.kernel.split_k), seen.time()});
  }
  return rows;
}

std::vector<double> product_residuals(const model::Profile& profile,
                                      const std::vector<ProductSample>& products) {
  std::vector<double> residuals;
  residuals.reserve(products.size());
  for (const ProductSample& row : products) {
    const model::GemmPricer pricer(profile, row.problem, row.budget);
    const double ps = pricer.price(row.kernel, row.split_k).time * 1e12;
    residuals.push_back(std::log(ps / static_cast<double>(row.time.ps())));
  }
  return residuals;
}

std::string product_label(const Sample& sample) {
  const Shape& s = *sample.what.shape;
  return fmt::format("{} {}x{}x{} on {} CTAs ({})", sample.what.library, s.m, s.n, s.k,
                     sample.kernel.grid, sample.kernel.name);
}

}  // namespace weft::calibration
