// SPDX-License-Identifier: Apache-2.0
// From the time of a step to the figures that people compare.
//
// Model FLOPs are those that the model's definition needs: no recomputation, no replicated heads,
// no padding, causal attention by the pairs that it sees; backward twice forward. MFU = model FLOPs
// / (time * peak of all GPUs), as in arXiv 2204.02311, appendix B, which however counts attention
// as if it were not causal.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/workloads/model_config.hpp"
#include "models/workloads/spec.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::model {

/// Returns the FLOPs of one pass of one replica over spec's tokens; in the backward phase, of a
/// whole training step (forward and backward).
Flops model_flops(const ModelConfig& model, const WorkloadSpec& spec);

/// "TTFT" in prefill, "TPOT" in decode, "step" in training.
std::string_view time_name(Phase phase);

struct StepFigures {
  double tokens_per_second = 0;  ///< of all replicas
  double tokens_per_second_and_gpu = 0;
  double mfu = 0;  ///< 0..1
};

/// Returns the figures of a step that takes `time` on GPUs of `peak` each.
StepFigures figures_of(const ModelConfig& model, const ParallelLayout& layout,
                       const WorkloadSpec& spec, Duration time, FlopRate peak);

}  // namespace weft::model
