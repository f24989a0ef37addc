// SPDX-License-Identifier: Apache-2.0
// Tensors and the operators between them, before anything is known about ranks.
//
// A dataflow says what is computed. Placements are said only where the layout decides: weights,
// inputs, and the few activations that it keeps in a certain place. derive.hpp finds all others,
// and with them the communication. Operators are in program order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/layouts/placement.hpp"
#include "models/layouts/tensor.hpp"
#include "sim/units/ids.hpp"

namespace weft::model {

using TensorId = Id<struct TensorTag>;
using NodeId = Id<struct NodeTag>;

/// What an operator does to dimensions, and so which placements it can work on (rules.hpp).
enum class Rule : std::uint8_t {
  contract,     ///< sums the product of its two inputs over the dimensions that the output lacks
  elementwise,  ///< any function of corresponding elements
  linear,       ///< a linear function of corresponding elements, which addends may enter unreduced
  normalize,    ///< needs its mixed dimensions whole; a second output is the gradient of its weight
  attention,    ///< mixes tokens and the head dimension; heads are independent
  lookup,       ///< indices, table -> rows of the table, selected along the mixed dimension
  scatter,      ///< rows, indices -> sums into the rows of a table along the mixed dimension
  reduce,       ///< a sum along the mixed dimension, which the output lacks
};

struct Node {
  std::string name;
  Rule rule = Rule::elementwise;
  std::string what = {};  ///< what it computes, for people: "matmul", "rms_norm", "silu_mul"
  std::vector<TensorId> inputs = {};
  std::vector<TensorId> outputs = {};
  std::vector<std::string> mixed = {};  ///< dimensions that its rule speaks of
  std::optional<NodeId> forward = {};   ///< the operator whose derivative this is
  bool weight_gradient = false;
};

struct Value {
  Tensor tensor;
  std::optional<NodeId> producer;
  std::vector<NodeId> consumers;
  std::optional<Placements> placed;  ///< where the layout wants it
  bool weight = false;               ///< a weight never moves
  bool differentiable = true;
};

class Dataflow {
 public:
  /// Adds a weight that lies as `placements` says and is never converted.
  TensorId weight(Tensor tensor, Placements placements = {});
  /// Adds an input that lies as `placements` says.
  TensorId input(Tensor tensor, Placements placements = {});
  /// Adds an input that has no gradient, such as token indices.
  TensorId constant(Tensor tensor, Placements placements = {});
  /// Adds an operator and its outputs, and returns these; its inputs are tensors of this dataflow.
  std::vector<TensorId> add(Node node, const std::vector<Tensor>& outputs);
  /// Keeps a produced tensor where the layout wants it: what lies otherwise is converted at once.
  void place(TensorId tensor, Placements placements);
  /// Says that the operators that follow belong to the backward pass: they see saved tensors.
  void begin_backward() { backward_begin_ = nodes_.size(); }

  const Value& value(TensorId id) const { return values_.at(id.value()); }
  const Node& node(NodeId id) const { return nodes_.at(id.value()); }
  std::size_t values() const { return values_.size(); }
  std::size_t nodes() const { return nodes_.size(); }
  /// Returns the index of the first operator of the backward pass; nodes() without one.
  std::size_t backward_begin() const { return backward_begin_.value_or(nodes_.size()); }

 private:
  TensorId new_value(Tensor tensor, std::optional<Placements> placed);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::optional<std::size_t> backward_begin_;
};

}  // namespace weft::model
