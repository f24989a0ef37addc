// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/measured_grid.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "calibration/fit/product_sample.hpp"

namespace weft::calibration {

namespace {

/// The grids of products, which have so many SMs.
template <class Sms>
std::vector<model::MeasuredProducts> grids_of(const std::vector<Observation>& products,
                                              const std::string& reference, const Sms& sms_of) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>,
           std::map<std::int64_t, model::MeasuredProduct>>
      grids;
  for (const Observation& seen : products) {
    const Case& what = seen.what();
    if (what.library != "cublaslt" || what.variant == "best" || what.suite == "gemm-sustained") {
      continue;
    }
    const Shape& s = *what.shape;
    const std::int64_t sms = sms_of(seen);
    const model::GemmTile kernel = kernel_of(seen.sample->kernel);
    // The same case of two suites: the first one stays.
    grids[{s.n, s.k, sms}].try_emplace(
        s.m, model::MeasuredProduct{s.m, seen.time(), kernel.tile_m, kernel.tile_n, kernel.tile_k,
                                    kernel.stages, kernel.cluster_m, kernel.cluster_n,
                                    std::max(1, seen.sample->kernel.split_k)});
  }
  std::vector<model::MeasuredProducts> list;
  for (const auto& [key, rows] : grids) {
    const auto [n, k, sms] = key;
    model::MeasuredProducts grid{model::GemmLibrary::cublaslt, n, k, sms, {}, {}};
    for (const auto& [m, row] : rows) grid.rows.push_back(row);
    grid.source = {model::SourceKind::measured, reference};
    list.push_back(std::move(grid));
  }
  return list;
}

}  // namespace

std::vector<model::MeasuredProducts> measured_grids(const std::vector<Observation>& samples,
                                                    const std::string& reference) {
  return grids_of(products_in(samples), reference, [](const Observation& seen) -> std::int64_t {
    return seen.what().sms.value_or(seen.run->sms);
  });
}

std::vector<model::MeasuredProducts> measured_on_parts(const std::vector<Observation>& samples,
                                                       const model::GpuFigures& gpu,
                                                       const std::string& reference) {
  return grids_of(
      products_in(samples, is_product_on_part), reference,
      [&](const Observation& seen) { return part_of_device(gpu, *seen.what().ranks).sms(); });
}

}  // namespace weft::calibration
