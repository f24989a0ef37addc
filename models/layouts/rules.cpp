// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/rules.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/units/check.hpp"

namespace weft::model {
namespace {

const Placement kWhole = Placement::replicate();
const Placement kAddend = Placement::partial();

bool has(const Tensor& tensor, const std::string& dim) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [&](const Dim& each) { return each.name == dim; });
}

Placement cut_if_present(const Tensor& tensor, const std::string& dim) {
  return has(tensor, dim) ? Placement::shard(dim) : kWhole;
}

/// The tensors around an operator, and every dimension of them once, in the order of appearance.
struct Shapes {
  std::vector<const Tensor*> inputs;
  std::vector<const Tensor*> outputs;
  std::vector<std::string> dims;

  Shapes(const Dataflow& dataflow, const Node& node) {
    for (const TensorId id : node.inputs) inputs.push_back(&dataflow.value(id).tensor);
    for (const TensorId id : node.outputs) outputs.push_back(&dataflow.value(id).tensor);
    for (const auto* group : {&inputs, &outputs}) {
      for (const Tensor* tensor : *group) {
        for (const Dim& dim : tensor->dims) {
          if (std::find(dims.begin(), dims.end(), dim.name) == dims.end()) dims.push_back(dim.name);
        }
      }
    }
  }

  Choice uniform(const Placement& placement) const {
    return {std::vector<Placement>(inputs.size(), placement),
            std::vector<Placement>(outputs.size(), placement)};
  }

  Choice cut_along(const std::string& dim) const {
    Choice choice;
    for (const Tensor* tensor : inputs) choice.inputs.push_back(cut_if_present(*tensor, dim));
    for (const Tensor* tensor : outputs) choice.outputs.push_back(cut_if_present(*tensor, dim));
    return choice;
  }
};

void add_contract(const Shapes& shapes, std::vector<Choice>& choices) {
  for (const std::string& dim : shapes.dims) {
    Choice choice = shapes.cut_along(dim);
    if (!has(*shapes.outputs[0], dim)) choice.outputs[0] = kAddend;
    choices.push_back(choice);
  }
  choices.push_back({{kAddend, kWhole}, {kAddend}});
  choices.push_back({{kWhole, kAddend}, {kAddend}});
}

void add_unmixed(const Shapes& shapes, const Node& node, std::vector<Choice>& choices) {
  for (const std::string& dim : shapes.dims) {
    if (std::find(node.mixed.begin(), node.mixed.end(), dim) != node.mixed.end()) continue;
    Choice choice = shapes.cut_along(dim);
    for (std::size_t i = 0; i < choice.outputs.size(); ++i) {
      // An output that lacks the dimension is a sum over it: the gradient of a weight.
      if (choice.outputs[i].is_replicate()) choice.outputs[i] = kAddend;
    }
    choices.push_back(choice);
  }
}

void add_lookup(const Shapes& shapes, const Node& node, std::vector<Choice>& choices) {
  for (const std::string& dim : shapes.dims) {
    Choice choice = shapes.cut_along(dim);
    if (dim == node.mixed.at(0)) choice.outputs[0] = kAddend;
    choices.push_back(choice);
  }
}

void add_scatter(const Shapes& shapes, std::vector<Choice>& choices) {
  for (const std::string& dim : shapes.dims) {
    Choice choice = shapes.cut_along(dim);
    if (!has(*shapes.outputs[0], dim)) choice.outputs[0] = kAddend;
    choices.push_back(choice);
  }
}

}  // namespace

std::vector<Choice> choices_of(const Dataflow& dataflow, const Node& node) {
  const Shapes shapes(dataflow, node);
  std::vector<Choice> choices = {shapes.uniform(kWhole)};
  switch (node.rule) {
    case Rule::contract:
      WEFT_CHECK(node.inputs.size() == 2 && node.outputs.size() == 1,
                 "{}: a contraction has two inputs and one output", node.name);
      add_contract(shapes, choices);
      break;
    case Rule::linear:
      choices.push_back(shapes.uniform(kAddend));
      add_unmixed(shapes, node, choices);
      break;
    case Rule::elementwise:
    case Rule::normalize:
    case Rule::attention:
      add_unmixed(shapes, node, choices);
      break;
    case Rule::lookup:
      add_lookup(shapes, node, choices);
      break;
    case Rule::scatter:
    case Rule::reduce:
      add_scatter(shapes, choices);
      break;
  }
  return choices;
}

std::string refusal_of(const Node& node, const Placement& placement) {
  if (node.rule == Rule::attention && placement.is_shard() && node.mixed.size() > 1 &&
      placement.dim() == node.mixed.back()) {
    return fmt::format(
        "scores sum over {0}, so each rank would hold an addend of them, and softmax of a sum is "
        "not the "
        "sum of softmaxes; cut the heads instead, which are independent",
        placement.dim());
  }
  return {};
}

}  // namespace weft::model
