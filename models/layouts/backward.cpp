// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/backward.hpp"

#include <cstddef>
#include <map>
#include <utility>

namespace weft::model {
namespace {

class ChainRule {
 public:
  ChainRule(Dataflow& dataflow, const GradientFormats& formats)
      : dataflow_(dataflow), formats_(formats), forward_nodes_(dataflow.backward_begin()) {}

  std::vector<Gradient> run(Gradient seed) {
    const std::size_t forward_values = dataflow_.values();
    gradients_[seed.of].push_back(seed.gradient);
    for (std::size_t i = forward_nodes_; i-- > 0;) {
      const NodeId id(static_cast<std::uint32_t>(i));
      const Node node = dataflow_.node(id);  // a copy: appending moves the nodes
      const TensorId output = node.outputs.front();
      if (!gradients_.contains(output)) continue;
      derive(id, node, summed(output));
    }
    std::vector<Gradient> result;
    for (std::size_t i = 0; i < forward_values; ++i) {
      const TensorId id(static_cast<std::uint32_t>(i));
      if (dataflow_.value(id).producer || !gradients_.contains(id)) continue;
      result.push_back({id, summed(id)});
    }
    return result;
  }

 private:
  void derive(NodeId id, const Node& node, TensorId dy) {
    switch (node.rule) {
      case Rule::contract:
        contract(id, node, dy);
        break;
      case Rule::linear:
        for (const TensorId input : node.inputs) pass(input, linear(id, node, input, dy));
        break;
      case Rule::lookup:
        pass(node.inputs[1], weight_node(id, node, Rule::scatter, {dy, node.inputs[0]},
                                         node.inputs[1], node.name + ".wgrad"));
        break;
      case Rule::elementwise:
      case Rule::normalize:
      case Rule::attention:
      case Rule::scatter:
      case Rule::reduce:
        with_saved_inputs(id, node, dy);
        break;
    }
  }

  void contract(NodeId id, const Node& node, TensorId dy) {
    const TensorId x = node.inputs[0];
    const TensorId w = node.inputs[1];
    if (wanted(x)) {
      Node dgrad = derivative(id, node, Rule::contract, {dy, w}, node.name + ".dgrad");
      pass(x, dataflow_.add(std::move(dgrad), {gradient_of(x)}).front());
    }
    if (!wanted(w)) return;
    pass(w, weight_node(id, node, Rule::contract, {dy, x}, w, node.name + ".wgrad"));
  }

  /// A sum passes its gradient on as it is; another linear function needs an operator, but nothing
  /// saved.
  TensorId linear(NodeId id, const Node& node, TensorId input, TensorId dy) {
    if (node.what == "add") return dy;
    Node backward = derivative(id, node, Rule::linear, {dy}, node.name + ".backward");
    return dataflow_.add(std::move(backward), {gradient_of(input)}).front();
  }

  void with_saved_inputs(NodeId id, const Node& node, TensorId dy) {
    std::vector<TensorId> inputs = {dy};
    std::vector<TensorId> of;
    std::vector<Tensor> outputs;
    for (const TensorId input : node.inputs) {
      const bool gain = dataflow_.value(input).weight && node.rule == Rule::normalize;
      inputs.push_back(input);
      if (!wanted(input)) continue;
      of.push_back(input);
      outputs.push_back(gradient_of(input, gain));
    }
    if (of.empty()) return;
    Node backward = derivative(id, node, node.rule, std::move(inputs), node.name + ".backward");
    backward.mixed = node.mixed;
    const std::vector<TensorId> made = dataflow_.add(std::move(backward), outputs);
    for (std::size_t i = 0; i < of.size(); ++i) pass(of[i], made[i]);
  }

  TensorId weight_node(NodeId id, const Node& node, Rule rule, std::vector<TensorId> inputs,
                       TensorId weight, std::string name) {
    Node wgrad = derivative(id, node, rule, std::move(inputs), std::move(name));
    wgrad.weight_gradient = true;
    wgrad.mixed = node.mixed;
    const bool is_weight = dataflow_.value(weight).weight;
    const TensorId made = dataflow_.add(std::move(wgrad), {gradient_of(weight, is_weight)}).front();
    if (is_weight) dataflow_.place(made, *dataflow_.value(weight).placed);
    return made;
  }

  static Node derivative(NodeId id, const Node& node, Rule rule, std::vector<TensorId> inputs,
                         std::string name) {
    Node made;
    made.name = std::move(name);
    made.rule = rule;
    made.what = node.what;
    made.inputs = std::move(inputs);
    made.forward = id;
    return made;
  }

  bool wanted(TensorId id) const { return dataflow_.value(id).differentiable; }

  Tensor gradient_of(TensorId id, bool weight = false) const {
    Tensor gradient = dataflow_.value(id).tensor;
    gradient.name = "d(" + gradient.name + ")";
    gradient.format = weight ? formats_.weights : formats_.activations;
    return gradient;
  }

  void pass(TensorId to, TensorId gradient) { gradients_[to].push_back(gradient); }

  /// The gradient of a tensor, after a sum if several operators consumed it.
  TensorId summed(TensorId of) {
    std::vector<TensorId>& parts = gradients_[of];
    while (parts.size() > 1) {
      Node sum;
      sum.name = gradient_of(of).name + ".sum";
      sum.rule = Rule::linear;
      sum.what = "add";
      sum.inputs = {parts[0], parts[1]};
      const TensorId made = dataflow_.add(std::move(sum), {gradient_of(of)}).front();
      parts.erase(parts.begin(), parts.begin() + 2);
      parts.insert(parts.begin(), made);
    }
    const Value& value = dataflow_.value(of);
    if (value.placed && !value.weight && dataflow_.value(parts.front()).producer) {
      dataflow_.place(parts.front(), *value.placed);
    }
    return parts.front();
  }

  Dataflow& dataflow_;
  GradientFormats formats_;
  std::size_t forward_nodes_;
  std::map<TensorId, std::vector<TensorId>> gradients_;
};

}  // namespace

std::vector<Gradient> append_backward(Dataflow& dataflow, Gradient seed,
                                      const GradientFormats& formats) {
  return ChainRule(dataflow, formats).run(seed);
}

}  // namespace weft::model
