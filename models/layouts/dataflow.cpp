// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/dataflow.hpp"

#include <utility>

#include "sim/units/check.hpp"

namespace weft::model {

TensorId Dataflow::new_value(Tensor tensor, std::optional<Placements> placed) {
  const TensorId id(static_cast<std::uint32_t>(values_.size()));
  Value value;
  value.tensor = std::move(tensor);
  value.placed = std::move(placed);
  values_.push_back(std::move(value));
  return id;
}

TensorId Dataflow::weight(Tensor tensor, Placements placements) {
  const TensorId id = new_value(std::move(tensor), std::move(placements));
  values_[id.value()].weight = true;
  return id;
}

TensorId Dataflow::input(Tensor tensor, Placements placements) {
  return new_value(std::move(tensor), std::move(placements));
}

TensorId Dataflow::constant(Tensor tensor, Placements placements) {
  const TensorId id = new_value(std::move(tensor), std::move(placements));
  values_[id.value()].differentiable = false;
  return id;
}

std::vector<TensorId> Dataflow::add(Node node, const std::vector<Tensor>& outputs) {
  const NodeId id(static_cast<std::uint32_t>(nodes_.size()));
  for (const TensorId input : node.inputs) {
    WEFT_CHECK(input.value() < values_.size(), "{}: input {} is not a tensor of this dataflow",
               node.name, input.value());
    values_[input.value()].consumers.push_back(id);
  }
  for (const Tensor& output : outputs) {
    const TensorId made = new_value(output, std::nullopt);
    values_[made.value()].producer = id;
    node.outputs.push_back(made);
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

void Dataflow::place(TensorId tensor, Placements placements) {
  values_.at(tensor.value()).placed = std::move(placements);
}

}  // namespace weft::model
