// SPDX-License-Identifier: Apache-2.0
// What each kernel has otherwise than its extents say, by least squares over its products, drawn towards the
// general constants: with few rows a kernel stays near them, with three or fewer it has nothing of its own.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/product_sample.hpp"

namespace weft::calibration {

/// The corrections of the kernels of `products`, by library and tile; those of `general` are not looked at. Where loads
/// do not bind, as on few SMs that have the whole L2, the factor of a kernel's loads is left alone.
[[nodiscard]] std::vector<model::KernelCorrection> fit_kernels(
    const model::Profile& general, const std::vector<ProductSample>& products,
    const std::string& reference, bool loads_bind = true);

}  // namespace weft::calibration
