// SPDX-License-Identifier: Apache-2.0
// The dataflows of a transformer's parts: embedding, block, head.
//
// Only three things are placed: weights (qkv, fc1 and the vocabulary matrices cut along their
// outputs, proj and fc2 along their inputs), the residual stream (whole, or cut along tokens under
// sequence parallelism), and what leaves the head. Everything else, communication included,
// follows.
#pragma once

#include <cstdint>
#include <map>

#include "models/layouts/dataflow.hpp"
#include "models/workloads/model_config.hpp"
#include "models/workloads/spec.hpp"

namespace weft::model {

/// A dataflow with what placements do not say about its operators.
struct PartFlow {
  Dataflow flow;
  std::map<NodeId, Tensor>
      touched;              ///< operators that read and write a part of their tensors in place
  std::int64_t window = 0;  ///< of its attention; 0: none
};

/// One transformer block; with its backward pass in the backward phase.
PartFlow block_flow(const ModelConfig& model, const ParallelLayout& layout,
                    const WorkloadSpec& spec, std::int64_t window);
/// Token (and position) embedding.
PartFlow embedding_flow(const ModelConfig& model, const ParallelLayout& layout,
                        const WorkloadSpec& spec);
/// Final norm, output matrix, and the loss or the gathered logits.
PartFlow head_flow(const ModelConfig& model, const ParallelLayout& layout,
                   const WorkloadSpec& spec);

}  // namespace weft::model
