// SPDX-License-Identifier: Apache-2.0
// What vLLM is told about overlap: the pass_config of its --compilation-config and the number of
// ranks, from a YAML file for --config, from JSON, or from a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"

namespace weft::model {

/// Absent settings are vLLM's own.
struct VllmOverlap {
  std::string file;
  std::optional<std::int64_t> tensor_parallel_size;
  std::optional<bool> enable_sp;                 ///< sequence parallelism, which async TP stands on
  std::optional<bool> fuse_gemm_comms;           ///< async TP
  std::optional<bool> fuse_allreduce_rms;        ///< FlashInfer's all-reduce with the norm after it
  std::optional<std::int64_t> sp_min_token_num;  ///< tokens from which enable_sp counts
  std::optional<double> fi_allreduce_fusion_max_size_mb;
  std::vector<config::ConfigError> notes;
};

/// Equal settings, wherever they stood.
[[nodiscard]] bool same_settings(const VllmOverlap& a, const VllmOverlap& b);

/// What vLLM refuses, or switches off again.
[[nodiscard]] std::vector<std::string> faults_of(const VllmOverlap& overlap);

[[nodiscard]] bool looks_like_vllm_config(std::string_view text);

/// Reads the text; throws config::ConfigErrors with every fault.
[[nodiscard]] VllmOverlap read_vllm_config(std::string_view text, const std::string& name);

/// The file for --config, after the header as comments; throws CheckFailure for faults.
[[nodiscard]] std::string to_vllm_config(const VllmOverlap& overlap,
                                         const std::vector<std::string>& header);

}  // namespace weft::model
