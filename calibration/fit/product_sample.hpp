// SPDX-License-Identifier: Apache-2.0
// A measured product as the cost model knows it: the problem, the kernel that ran and the CTAs that it had.
#pragma once

#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// Returns whether a sample is a product alone on the device whose kernel is known.
[[nodiscard]] bool is_product(const Observation& seen);

/// The same on a part of the device, the others idle.
[[nodiscard]] bool is_product_on_part(const Observation& seen);

/// The first of so many parts of a device, the others idle.
[[nodiscard]] model::SmBudget part_of_device(const model::GpuFigures& gpu, int parts);

/// Returns whether the device throttled during half of the repetitions or more.
[[nodiscard]] bool has_throttled(const Sample& sample);

/// The products that a fit would use, less those during which the device throttled.
[[nodiscard]] std::vector<Observation> products_in(const std::vector<Observation>& samples,
                                                   bool (*wanted)(const Observation&) = is_product);

/// The kernel that ran, as the cost model names it.
[[nodiscard]] model::GemmTile kernel_of(const Kernel& kernel);

/// The modelled time of a measured product: by the kernel that ran if `true_kernel`, else by the model's choice.
[[nodiscard]] model::GemmCost product_cost(const model::Profile& profile, const Sample& sample,
                                           bool true_kernel);

/// A product ready to be priced many times.
struct ProductSample {
  model::GemmProblem problem;
  model::SmBudget budget;  ///< the CTAs that ran; on a part of a device, its SMs
  model::GemmTile kernel;
  std::int64_t split_k = 1;
  Duration time;
};

/// All of them, in the same order; each is a product.
[[nodiscard]] std::vector<ProductSample> product_samples(const std::vector<Observation>& products,
                                                         const model::GpuFigures& gpu);

/// log(modelled / measured) of each.
[[nodiscard]] std::vector<double> product_residuals(const model::Profile& profile,
                                                    const std::vector<ProductSample>& products);

/// "weft 1024x8192x4096 on 132 CTAs (the kernel's name)".
[[nodiscard]] std::string product_label(const Sample& sample);

}  // namespace weft::calibration
