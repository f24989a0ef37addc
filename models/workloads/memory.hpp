// SPDX-License-Identifier: Apache-2.0
// The memory that one rank needs.
//
//   weights + gradients + optimizer + activations + KV cache + communication buffers
//
// ZeRO (arXiv 1910.02054) over the replicas: stage 1 cuts the optimizer's states, 2 also gradients,
// 3 also weights. Only its memory is counted: the traffic of the replicas is not simulated.
// Ignored: allocator fragmentation, the CUDA context, workspaces of libraries.
#pragma once

#include <cstdint>

#include "models/workloads/model_config.hpp"
#include "models/workloads/spec.hpp"
#include "models/workloads/workload.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

/// Adam's states and how they are spread.
struct OptimizerSpec {
  int zero = 0;                 ///< 0..3
  DType moments = DType::fp32;  ///< of each of its two moments
  DType master =
      DType::fp32;  ///< of its copy of the weights; none is kept if weights are so already
  std::int64_t microbatches_in_flight = 1;
  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

/// Parameters that one rank holds, replicated KV heads and padded vocabulary included.
struct RankParameters {
  std::int64_t products = 0;  ///< weights of the blocks' products
  std::int64_t others = 0;    ///< vocabulary, positions, norms, biases
  friend bool operator==(const RankParameters&, const RankParameters&) = default;
};

RankParameters rank_parameters(const ModelConfig& model, const ParallelLayout& layout);

struct MemoryUse {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes kv_cache;
  Bytes communication;
  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
};

/// Returns the sum of all parts.
Bytes total_of(const MemoryUse& use);

/// Returns the keys and values of every layer and sequence that one rank keeps, context and new
/// tokens; a layer with a window keeps no more than that.
Bytes kv_cache_bytes(const ModelConfig& model, const ParallelLayout& layout,
                     const WorkloadSpec& spec);

/// Returns the buffers that collectives read and write: twice the largest boundary's messages, so
/// that one boundary can fill them while the last drains.
Bytes communication_buffers(const Workload& workload);

/// Returns what one rank needs for `workload`, built from the other arguments.
MemoryUse memory_of(const ModelConfig& model, const ParallelLayout& layout,
                    const WorkloadSpec& spec, const Workload& workload,
                    const OptimizerSpec& optimizer = {});

}  // namespace weft::model
