// SPDX-License-Identifier: Apache-2.0
// A plan for inference systems: FLUX's tuning entries for the boundaries that it runs, and vLLM's
// thresholds for asynchronous tensor parallelism.
#pragma once

#include <string>
#include <vector>

#include "models/import/flux_tuning.hpp"
#include "models/import/vllm_config.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

/// The entry of every boundary of the best layout that a "flux." schedule runs on Hopper; others, and
/// what FLUX would refuse, are remarks.
[[nodiscard]] std::vector<FluxEntry> flux_entries_of(const Plan& plan,
                                                     std::vector<std::string>& remarks);

/// The least number of tokens, of powers of two, from which the plan's model under sequence
/// parallelism and asynchronous tensor parallelism beats the unfused one without, up to the plan's own
/// tokens; none where it never does.
[[nodiscard]] std::optional<std::int64_t> async_tp_threshold(const Plan& plan);

/// Settings for a plan of a model; throws CheckFailure for a plan of one boundary.
[[nodiscard]] VllmOverlap vllm_overlap_of(const Plan& plan, std::vector<std::string>& remarks);

}  // namespace weft::model
