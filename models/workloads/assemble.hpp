// SPDX-License-Identifier: Apache-2.0
// Turns a dataflow and its derived placements into operators and boundaries of one rank.
//
// A conversion joins the products beside it: its producer, its consumers, and in the backward pass
// the other derivative of the same product, which is independent of it. Conversions that share a
// product are one boundary. A conversion beside no product joins the operator that makes it, or the
// first that uses it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "models/layouts/dataflow.hpp"
#include "models/layouts/derive.hpp"
#include "models/workloads/workload.hpp"

namespace weft::model {

/// What attention operators of a dataflow work on, beyond the shapes of their tensors.
struct AttentionContext {
  std::int64_t sequences = 1;
  std::int64_t query_length = 1;
  std::int64_t kv_length = 1;
  std::int64_t kv_heads = 1;  ///< of all ranks together
  std::int64_t window = 0;
  bool uses_cache = false;  ///< keys and values go through a cache in memory
  TensorFormat cache;
};

/// Returns the operators and boundaries of nodes [begin, end) in program order.
std::vector<LayerPart> assemble(const Dataflow& flow, const Derivation& derivation,
                                std::size_t begin, std::size_t end, Phase phase,
                                const AttentionContext& attention,
                                const std::map<NodeId, Tensor>& touched);

/// Returns one node as the operator that a rank runs.
Operator operator_of(const Dataflow& flow, const Derivation& derivation, NodeId node,
                     const AttentionContext& attention, const std::map<NodeId, Tensor>& touched);

/// Returns one conversion as a boundary's collective; it has one.
BoundaryCollective collective_of(const Dataflow& flow, const Derivation& derivation,
                                 const Conversion& conversion);

}  // namespace weft::model
