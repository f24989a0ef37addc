// SPDX-License-Identifier: Apache-2.0
// What a job of Megatron-LM or NeMo is: the model, its layout and its steps, from its arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/value.hpp"
#include "models/import/launch_args.hpp"

namespace weft::model {

/// Sizes and switches; absent: not in the arguments.
struct MegatronJob {
  std::optional<std::int64_t> layers, hidden, ffn, heads, groups, head_dim, vocab, positions;
  std::optional<std::int64_t> sequence, micro_batch, global_batch;
  std::int64_t tp = 1, pp = 1, cp = 1, ep = 1;
  std::optional<std::int64_t> gpus_per_node, nodes;
  bool sequence_parallel = false;
  bool overlap = false;  ///< --tp-comm-overlap
  std::optional<std::string> overlap_config;
  bool deterministic = false;
  bool fsdp = false;
  std::vector<config::ConfigError> notes;

  /// Tokens of one micro-batch on one context-parallel rank, where known.
  [[nodiscard]] std::optional<std::int64_t> tokens() const;
};

/// Reads the job; throws config::ConfigErrors where values are no numbers or contradict each other.
[[nodiscard]] MegatronJob megatron_job(const LaunchArguments& arguments);

/// The model as a config.json; throws config::ConfigErrors for what no family that is read has.
[[nodiscard]] config::Value model_of(const MegatronJob& job, const LaunchArguments& arguments);

/// The model with the layers of one pipeline stage, the largest where they do not divide.
[[nodiscard]] config::Value stage_of(config::Value model, const MegatronJob& job);

/// The scenario of one layer's forward pass; `model` and `machine` are files, empty: null.
[[nodiscard]] config::Value scenario_of(const MegatronJob& job, const std::string& name,
                                        const std::string& model, const std::string& machine);

}  // namespace weft::model
