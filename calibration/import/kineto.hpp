// SPDX-License-Identifier: Apache-2.0
// Reads traces of the PyTorch profiler (Kineto), plain or gzip, in one pass and constant memory but
// for the GPU's own activities. docs/formats.md.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/gpu_trace.hpp"

namespace weft::calibration {

/// Returns whether the first bytes look like a Chrome trace.
[[nodiscard]] bool looks_like_trace(std::string_view head);

/// Reads a file; throws config::ConfigErrors where no GPU activity is found.
[[nodiscard]] GpuTrace read_kineto(const std::string& file);
/// The same of text.
[[nodiscard]] GpuTrace parse_kineto(std::string_view text, const std::string& name);

}  // namespace weft::calibration
