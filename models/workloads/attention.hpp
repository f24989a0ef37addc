// SPDX-License-Identifier: Apache-2.0
// Attention of a workload in the terms of its cost model, which also counts its pairs and FLOPs.
#pragma once

#include "models/cost/roofline.hpp"
#include "models/workloads/operator.hpp"

namespace weft::model {

/// Returns the problem that one rank's attention operator poses to the cost model.
inline AttentionProblem problem_of(const AttentionWork& work) {
  AttentionProblem problem;
  problem.batch = work.sequences;
  problem.query_tokens = work.query_length;
  problem.key_tokens = work.kv_length;
  problem.heads = work.heads;
  problem.kv_heads = work.kv_heads;
  problem.head_dim = work.head_dim;
  problem.causal = work.causal;
  if (work.window != 0) problem.window = work.window;
  problem.dtype = work.format.element;
  problem.backward = work.backward;
  return problem;
}

}  // namespace weft::model
