// SPDX-License-Identifier: Apache-2.0
// Reads the comma-separated tables of calibration/samples/published/. Lines that begin with # are remarks;
// the first other line names the columns, in any order; columns that are not known are an error, as is every
// cell that is not what its column holds. All errors of a file are thrown at once, with their lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/units/bytes.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/dtype.hpp"
#include "sim/units/time.hpp"

namespace weft::calibration {

struct CollectiveSample {
  CollectiveOp op = CollectiveOp::all_reduce;
  DType dtype = DType::fp16;
  std::int64_t ranks = 0;  ///< of one node
  Bytes message;
  Duration time;
  friend bool operator==(const CollectiveSample&, const CollectiveSample&) = default;
};

struct GemmSample {
  DType dtype = DType::bf16;
  std::int64_t m = 0, n = 0, k = 0;
  Duration time;
  friend bool operator==(const GemmSample&, const GemmSample&) = default;
};

struct AttentionSample {
  std::int64_t batch = 0, tokens = 0, heads = 0, kv_heads = 0, head_dim = 0;
  Duration time;
  friend bool operator==(const AttentionSample&, const AttentionSample&) = default;
};

[[nodiscard]] std::vector<CollectiveSample> read_collective_table(
    const std::filesystem::path& file);
[[nodiscard]] std::vector<GemmSample> read_gemm_table(const std::filesystem::path& file);
[[nodiscard]] std::vector<AttentionSample> read_attention_table(const std::filesystem::path& file);

}  // namespace weft::calibration
