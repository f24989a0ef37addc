// SPDX-License-Identifier: Apache-2.0
// A model's step as one rank runs it: layers of operators, with the boundaries between them.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/workloads/boundary.hpp"
#include "models/workloads/model_config.hpp"
#include "models/workloads/operator.hpp"
#include "models/workloads/spec.hpp"

namespace weft::model {

/// A part of a layer: an operator beside which nothing communicates, or a boundary with its
/// operators.
using LayerPart = std::variant<Operator, Boundary>;

/// Operators and boundaries in program order; each operator of the layer occurs once.
struct Layer {
  std::string name;  ///< "block", "embedding", "head"
  Phase phase = Phase::forward;
  std::vector<LayerPart> parts;
  std::int64_t count = 1;  ///< equal layers in the model, one after another
  friend bool operator==(const Layer&, const Layer&) = default;
};

/// One pass over the model: every layer in program order, e.g. embedding, 80 blocks, head.
struct Workload {
  std::string model;
  Phase phase = Phase::forward;
  std::vector<Layer> layers;
  friend bool operator==(const Workload&, const Workload&) = default;
};

/// Derives the workload of one replica; throws LayoutError with every problem of the layout.
///
/// In the forward and backward phases tokens are those of one microbatch; backward under full
/// recomputation runs the forward operators of each block first, under selective its attention.
Workload build_workload(const ModelConfig& model, const ParallelLayout& layout,
                        const WorkloadSpec& spec);

/// Returns the operators of a layer in program order, those inside boundaries included.
std::vector<const Operator*> operators_of(const Layer& layer);
/// Returns the boundaries of a layer in program order.
std::vector<const Boundary*> boundaries_of(const Layer& layer);

/// Sums over one rank.
struct Totals {
  Flops flops;
  Bytes read;
  Bytes written;
  Bytes wire;  ///< sent by this rank
  std::int64_t collectives = 0;
  friend bool operator==(const Totals&, const Totals&) = default;
};

/// Returns the sums over one layer (its count not applied).
Totals totals_of(const Layer& layer);
/// Returns the sums over all layers, each as often as it occurs.
Totals totals_of(const Workload& workload);

}  // namespace weft::model
