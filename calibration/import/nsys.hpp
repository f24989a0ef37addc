// SPDX-License-Identifier: Apache-2.0
// Reads Nsight Systems: the database of `nsys export --type sqlite`, and the table of
// `nsys stats --report cuda_gpu_trace --format csv`. docs/formats.md.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/gpu_trace.hpp"

namespace weft::calibration {

/// Returns whether the first bytes are those of a SQLite database.
[[nodiscard]] bool looks_like_sqlite(std::string_view head);
/// Returns whether the text looks like a table of `nsys stats`.
[[nodiscard]] bool looks_like_nsys_csv(std::string_view head);

/// Reads a database; throws config::ConfigErrors where it holds no GPU kernels.
[[nodiscard]] GpuTrace read_nsys_sqlite(const std::string& file);
/// The same of a database in memory.
[[nodiscard]] GpuTrace parse_nsys_sqlite(std::string_view bytes, const std::string& name);
/// Reads a table; throws config::ConfigErrors for tables of sums, which cannot tell overlap.
[[nodiscard]] GpuTrace parse_nsys_csv(std::string_view text, const std::string& name);

}  // namespace weft::calibration
