// SPDX-License-Identifier: Apache-2.0
// What a layer keeps of its forward pass for its backward pass (arXiv 2205.05198, sections 4 and
// 5).
//
// For a GPT in 16 bits with dropout, s tokens a sequence, b sequences, a heads, h features, t
// ranks, a layer keeps, in bytes:
//   TP                sbh (10 + 24/t + 5as/(ht))      TP, SP                sbh/t (34 + 5as/h)
//   TP, selective     sbh (10 + 24/t)                 TP, SP, selective     34 sbh/t
//   full              2sbh
// Here each term is counted by itself, so that gated MLPs, grouped heads, other formats and models
// without dropout get theirs. Attention that never stores its scores (flash) is `selective` in
// memory.
#pragma once

#include "models/workloads/model_config.hpp"
#include "models/workloads/spec.hpp"
#include "sim/units/bytes.hpp"

namespace weft::model {

/// Returns what one layer keeps on one rank for one microbatch. Under SP even full recomputation
/// keeps only the rank's tokens.
Bytes kept_activations_of_layer(const ModelConfig& model, const ParallelLayout& layout,
                                const WorkloadSpec& spec);

/// Returns what the embedding and the head keep: dropout masks, inputs of the final norm and of the
/// head, and logits in fp32.
Bytes kept_activations_of_ends(const ModelConfig& model, const ParallelLayout& layout,
                               const WorkloadSpec& spec);

/// Returns the transient tensors of an inference pass at their peak: the residual stream, one
/// product's whole input, and the widest outputs that live together.
Bytes working_activations(const ModelConfig& model, const ParallelLayout& layout,
                          const WorkloadSpec& spec);

}  // namespace weft::model
