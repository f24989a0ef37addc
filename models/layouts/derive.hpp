// SPDX-License-Identifier: Apache-2.0
// Finds where every tensor of a dataflow lies, and the conversions that this takes: the
// communication.
//
// Operators are taken in program order. Each may run in any way that rules.hpp allows; it takes the
// one that costs the fewest wire bytes, counting its inputs (from the cheapest copy there is) and
// what its consumer will need of its output. Ties: fewer collectives, then fewer local conversions,
// then less work on a rank, then the order of rules.hpp. Axes are independent. A copy, once made,
// is used by every later operator.
//
// What the backward pass may use of the forward pass: the tensors that were saved. With
// `keep_gathered` that includes gathered copies; without, a gathered tensor is gathered again,
// which is what sequence parallelism does to keep only shards (arXiv 2205.05198, section 4.2.2).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/layouts/dataflow.hpp"
#include "models/layouts/mesh.hpp"
#include "models/layouts/placement.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/collective.hpp"

namespace weft::model {

/// One change of placement of one tensor along one axis.
struct Conversion {
  TensorId tensor{0};
  Axis axis = Axis::tp;
  Placement from;
  Placement to;
  std::optional<CollectiveOp> op;  ///< none: local
  Bytes message;                   ///< as nccl-tests counts it; zero if local
  int group = 1;
  std::optional<NodeId> producer;  ///< none: the tensor is an input, a weight or saved
  std::vector<NodeId> consumers;   ///< operators that use the converted copy
  NodeId before{0};                ///< program order: the operator that first needed it, or follows
  bool backward = false;
  bool placed = false;  ///< because the layout wants the tensor there
  friend bool operator==(const Conversion&, const Conversion&) = default;
};

/// Where everything lies.
struct Derivation {
  Mesh mesh;
  std::vector<Placements> values;               ///< of each tensor as produced
  std::vector<std::vector<Placements>> inputs;  ///< of each operator, as it uses them
  std::vector<Conversion> conversions;          ///< in program order, along axes longer than one
};

struct DeriveOptions {
  bool keep_gathered = false;
};

/// Derives every placement; throws LayoutError that names the operator that cannot run.
Derivation derive(const Dataflow& dataflow, const Mesh& mesh, DeriveOptions options = {});

/// Throws LayoutError, naming the consumer, if `op` in place of the conversion's own collective
/// would leave it without what it needs; a whole where a slice is needed is enough.
void check_replacement(const Dataflow& dataflow, const Conversion& conversion, CollectiveOp op);

/// Returns the bytes each rank sends in all conversions, both passes.
Bytes wire_bytes(const Derivation& derivation);

}  // namespace weft::model
