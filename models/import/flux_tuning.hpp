// SPDX-License-Identifier: Apache-2.0
// Tuning entries of FLUX: C++ that adds a kernel's parameters for a shape to its registry
// (src/*/tuning_config/config_*.cu of bytedance/flux, and what its --tune prints). Those of the fused
// products for Hopper are read; others are counted in a note.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::model {

enum class FluxOp : std::uint8_t { all_gather, reduce_scatter };

struct FluxEntry {
  std::uint32_t line = 0;
  FluxOp op = FluxOp::all_gather;
  std::string input = "BF16", output = "BF16";
  std::string layout = "RCR";
  std::int64_t m = 0, n = 0, k = 0;  ///< all rows; columns and depth of a rank
  std::int64_t ranks = 1, nodes = 1;
  std::int64_t ring_mode = 0;           ///< of a gather: 0 all-to-all, 1 and 2 rings
  bool fuse_reduction = false;          ///< of a reduction
  std::string comm_kind = "IntraNode";  ///< of a reduction
  std::array<std::int64_t, 3> cluster = {1, 1, 1}, tile = {128, 128, 64};
  std::string kernel_schedule;  ///< "Cooperative", "PingPong"; empty: left to FLUX
  std::int64_t stages = 0;      ///< 0: as many as fit
  std::string raster = "RasterHeuristic";
};

/// Equal entries, wherever they stood.
[[nodiscard]] bool same_entry(const FluxEntry& a, const FluxEntry& b);

/// What FLUX refuses about an entry.
[[nodiscard]] std::vector<std::string> faults_of(const FluxEntry& entry);

struct FluxTuning {
  std::string file;
  std::vector<FluxEntry> entries;
  std::vector<config::ConfigError> notes;
};

[[nodiscard]] bool looks_like_flux_tuning(std::string_view text);

/// Reads the text; throws config::ConfigErrors with every fault.
[[nodiscard]] FluxTuning read_flux_tuning(std::string_view text, const std::string& name);

/// The entries as a source file of FLUX, after the header as comments; throws CheckFailure for faults.
[[nodiscard]] std::string to_flux_tuning(const std::vector<FluxEntry>& entries,
                                         const std::vector<std::string>& header);

}  // namespace weft::model
