// SPDX-License-Identifier: Apache-2.0
// The two long tables of a profile, a row a line: kernels that are not what their extents say, and measured
// products. Rows that share a source are one table {source, rows}.
#pragma once

#include <string_view>
#include <vector>

#include "configs/reader/value.hpp"
#include "models/profile/profile.hpp"

namespace weft::config {
class StrictObject;
}

namespace weft::model {

/// Reads the tables under "corrections"; absent is empty.
[[nodiscard]] std::vector<KernelCorrection> read_corrections(config::StrictObject& gemm);
/// Reads the tables under a name as grids by library, N, K and SM count; absent is empty.
[[nodiscard]] std::vector<MeasuredProducts> read_measured(config::StrictObject& gemm,
                                                          std::string_view name);

[[nodiscard]] config::Value write_corrections(const std::vector<KernelCorrection>& kernels);
[[nodiscard]] config::Value write_measured(const std::vector<MeasuredProducts>& grids);

}  // namespace weft::model
