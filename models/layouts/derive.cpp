// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/derive.hpp"

#include <algorithm>
#include <compare>
#include <limits>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "models/layouts/conversion.hpp"
#include "models/layouts/error.hpp"
#include "models/layouts/rules.hpp"
#include "models/layouts/tensor.hpp"

namespace weft::model {
namespace {

/// A copy of a tensor along one axis, and the conversion that made it.
struct Copy {
  Placement placement;
  std::optional<std::size_t> conversion;
};

/// What a choice costs, compared member by member.
struct Price {
  std::int64_t wire = 0;
  std::int64_t collectives = 0;
  std::int64_t slices = 0;
  double work = 0;
  friend auto operator<=>(const Price&, const Price&) = default;
};

/// How far a need is looked for downstream; blocks have shorter chains of element-wise operators.
constexpr int kLookAhead = 16;

class Deriver {
 public:
  Deriver(const Dataflow& dataflow, const Mesh& mesh, DeriveOptions options)
      : dataflow_(dataflow), options_(options) {
    result_.mesh = mesh;
    result_.values.resize(dataflow.values());
    result_.inputs.resize(dataflow.nodes());
    for (auto& copies : copies_) copies.resize(dataflow.values());
    for (std::size_t i = 0; i < dataflow.values(); ++i) {
      const Value& value = dataflow.value(tensor(i));
      if (!value.producer) start(tensor(i), value.placed.value_or(Placements{}));
    }
  }

  Derivation run() {
    for (std::size_t i = 0; i < dataflow_.nodes(); ++i) {
      if (i == dataflow_.backward_begin()) forget_unsaved();
      const NodeId id(static_cast<std::uint32_t>(i));
      result_.inputs[i].resize(dataflow_.node(id).inputs.size());
      for (const Axis axis : every_axis) place(id, axis);
      for (const TensorId output : dataflow_.node(id).outputs) keep_where_wanted(id, output);
    }
    return std::move(result_);
  }

 private:
  static TensorId tensor(std::size_t index) { return TensorId(static_cast<std::uint32_t>(index)); }

  std::vector<Copy>& copies(TensorId id, Axis axis) {
    return copies_[static_cast<std::size_t>(axis)][id.value()];
  }
  const std::vector<Copy>& copies(TensorId id, Axis axis) const {
    return copies_[static_cast<std::size_t>(axis)][id.value()];
  }

  void start(TensorId id, const Placements& placements) {
    for (const Axis axis : every_axis) copies(id, axis) = {{placements.on(axis), std::nullopt}};
    result_.values[id.value()] = placements;
  }

  std::int64_t wire(TensorId id, const Placement& from, const Placement& to, Axis axis) const {
    const int ranks = result_.mesh.size(axis);
    const std::optional<CollectiveOp> op = collective_between(from, to);
    if (!op || ranks == 1) return 0;
    // The whole tensor stands for the message: other axes cut both sides of a comparison alike.
    const std::int64_t share = *op == CollectiveOp::all_to_all ? ranks : 1;
    return bytes_of(dataflow_.value(id).tensor).count() / share / ranks *
           wire_numerator(*op, ranks);
  }

  /// The copy from which `to` costs least; earlier copies first.
  std::size_t nearest(TensorId id, const Placement& to, Axis axis) const {
    const std::vector<Copy>& all = copies(id, axis);
    std::size_t best = 0;
    for (std::size_t i = 1; i < all.size(); ++i) {
      const auto rank_of = [&](const Copy& copy) {
        return std::pair(wire(id, copy.placement, to, axis), copy.placement == to ? 0 : 1);
      };
      if (rank_of(all[i]) < rank_of(all[best])) best = i;
    }
    return best;
  }

  /// Where `id` will be needed: where the layout wants it, or where its first consumer with an
  /// opinion does.
  std::optional<Placement> needed(TensorId id, Axis axis, int depth = 0) const {
    const Value& value = dataflow_.value(id);
    if (value.placed) return value.placed->on(axis);
    if (depth == kLookAhead) return std::nullopt;
    for (const NodeId consumer : value.consumers) {
      const Node& node = dataflow_.node(consumer);
      const auto input = static_cast<std::size_t>(
          std::find(node.inputs.begin(), node.inputs.end(), id) - node.inputs.begin());
      std::vector<Choice> open = choices_of(dataflow_, node);
      std::erase_if(open, [&](const Choice& choice) { return moves_a_weight(node, choice, axis); });
      if (const auto agreed = agreement(open, input)) return agreed;
      const auto after = needed(node.outputs.front(), axis, depth + 1);
      if (!after) continue;
      std::erase_if(open, [&](const Choice& choice) { return choice.outputs[0] != *after; });
      if (const auto agreed = agreement(open, input)) return agreed;
    }
    return std::nullopt;
  }

  static std::optional<Placement> agreement(const std::vector<Choice>& open, std::size_t input) {
    if (open.empty()) return std::nullopt;
    for (const Choice& choice : open) {
      if (choice.inputs[input] != open[0].inputs[input]) return std::nullopt;
    }
    return open[0].inputs[input];
  }

  bool moves_a_weight(const Node& node, const Choice& choice, Axis axis) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value& value = dataflow_.value(node.inputs[i]);
      if (value.weight && choice.inputs[i] != value.placed->on(axis)) return true;
    }
    return false;
  }

  /// What `choice` would cut and cannot: "x: hidden of size 10"; empty if all sizes divide.
  std::string uncuttable(const Node& node, const Choice& choice, Axis axis) const {
    const auto check = [&](TensorId id, const Placement& placement) -> std::string {
      const Tensor& tensor = dataflow_.value(id).tensor;
      if (!placement.is_shard() ||
          size_of(tensor, placement.dim()) % result_.mesh.size(axis) == 0) {
        return {};
      }
      return fmt::format("{}: {} of size {}", tensor.name, placement.dim(),
                         size_of(tensor, placement.dim()));
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (std::string bad = check(node.inputs[i], choice.inputs[i]); !bad.empty()) return bad;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (std::string bad = check(node.outputs[i], choice.outputs[i]); !bad.empty()) return bad;
    }
    return {};
  }

  Price price(const Node& node, const Choice& choice, Axis axis) const {
    Price price;
    const auto add = [&](TensorId id, const Placement& from, const Placement& to) {
      price.wire += wire(id, from, to, axis);
      if (from == to) return;
      ++(collective_between(from, to) ? price.collectives : price.slices);
    };
    const auto add_work = [&](TensorId id, const Placement& placement) {
      const double share = placement.is_shard() ? 1.0 / result_.mesh.size(axis) : 1.0;
      price.work += share * static_cast<double>(elements_of(dataflow_.value(id).tensor));
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      const Placement& from = copies(id, axis)[nearest(id, choice.inputs[i], axis)].placement;
      add(id, from, choice.inputs[i]);
      add_work(id, choice.inputs[i]);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const auto to = needed(node.outputs[i], axis);
      if (to) add(node.outputs[i], choice.outputs[i], *to);
      add_work(node.outputs[i], choice.outputs[i]);
    }
    return price;
  }

  void place(NodeId id, Axis axis) {
    const Node& node = dataflow_.node(id);
    if (result_.mesh.size(axis) > 1) refuse_if_wrong(node, axis);
    const std::vector<Choice> all = choices_of(dataflow_, node);
    const Choice* best = nullptr;
    Price lowest;
    for (const Choice& choice : all) {
      if (moves_a_weight(node, choice, axis) || !uncuttable(node, choice, axis).empty()) continue;
      const Price cost = price(node, choice, axis);
      if (best != nullptr && cost >= lowest) continue;
      best = &choice;
      lowest = cost;
    }
    if (best == nullptr) no_way(node, all, axis);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      convert(id, node.inputs[i], axis, best->inputs[i]);
      result_.inputs[id.value()][i].on(axis) = best->inputs[i];
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      copies(node.outputs[i], axis) = {{best->outputs[i], std::nullopt}};
      result_.values[node.outputs[i].value()].on(axis) = best->outputs[i];
    }
  }

  void refuse_if_wrong(const Node& node, Axis axis) const {
    for (const TensorId input : node.inputs) {
      const Placement& placement = copies(input, axis).front().placement;
      const std::string reason = refusal_of(node, placement);
      if (reason.empty()) continue;
      const std::string& name = dataflow_.value(input).tensor.name;
      throw LayoutError(node.name, name,
                        fmt::format("{} cannot take {} as {} on {}: {}", node.name, name,
                                    to_text(placement), name_of(axis), reason));
    }
  }

  [[noreturn]] void no_way(const Node& node, const std::vector<Choice>& all, Axis axis) const {
    for (const Choice& choice : all) {
      if (moves_a_weight(node, choice, axis)) continue;
      throw LayoutError(
          node.name, node.name,
          fmt::format("{} cannot be cut into {} equal parts on {}: {}", node.name,
                      result_.mesh.size(axis), name_of(axis), uncuttable(node, choice, axis)));
    }
    std::string weights;
    std::string name;
    for (const TensorId input : node.inputs) {
      const Value& value = dataflow_.value(input);
      if (!value.weight) continue;
      name = value.tensor.name;
      weights += fmt::format("{}{} as {}", weights.empty() ? "" : " and ", name,
                             to_text(value.placed->on(axis)));
    }
    throw LayoutError(
        node.name, name,
        fmt::format("{} cannot run with {} on {}: no rule covers it, and weights do not move",
                    node.name, weights, name_of(axis)));
  }

  void convert(NodeId consumer, TensorId id, Axis axis, const Placement& to) {
    std::vector<Copy>& all = copies(id, axis);
    const std::size_t source = nearest(id, to, axis);
    if (all[source].placement == to) {
      if (all[source].conversion) {
        result_.conversions[*all[source].conversion].consumers.push_back(consumer);
      }
      return;
    }
    const std::optional<std::size_t> made = record(id, axis, all[source].placement, to, consumer);
    if (made) result_.conversions[*made].consumers.push_back(consumer);
    all.push_back({to, made});
  }

  std::optional<std::size_t> record(TensorId id, Axis axis, const Placement& from,
                                    const Placement& to, NodeId before) {
    const int ranks = result_.mesh.size(axis);
    if (ranks == 1) return std::nullopt;
    Conversion conversion;
    conversion.tensor = id;
    conversion.axis = axis;
    conversion.from = from;
    conversion.to = to;
    conversion.op = collective_between(from, to);
    conversion.group = ranks;
    conversion.before = before;
    conversion.backward = before.value() >= dataflow_.backward_begin();
    const Value& value = dataflow_.value(id);
    if (value.producer && in_this_pass(*value.producer, conversion.backward)) {
      conversion.producer = value.producer;
    }
    if (conversion.op) {
      conversion.message =
          message_bytes(*conversion.op, value.tensor, result_.values[id.value()].with(axis, from),
                        axis, result_.mesh);
    }
    result_.conversions.push_back(std::move(conversion));
    return result_.conversions.size() - 1;
  }

  bool in_this_pass(NodeId node, bool backward) const {
    return (node.value() >= dataflow_.backward_begin()) == backward;
  }

  void keep_where_wanted(NodeId producer, TensorId id) {
    const std::optional<Placements>& wanted = dataflow_.value(id).placed;
    if (!wanted) return;
    for (const Axis axis : every_axis) {
      const Placement from = copies(id, axis).front().placement;
      const Placement& to = wanted->on(axis);
      if (from == to) continue;
      const auto made = record(id, axis, from, to, NodeId(producer.value() + 1));
      if (made) {
        Conversion& conversion = result_.conversions[*made];
        conversion.placed = true;
        conversion.backward = producer.value() >= dataflow_.backward_begin();
        conversion.producer = producer;
      }
      copies(id, axis) = {{to, made}};
    }
  }

  /// At the start of the backward pass only saved tensors are left: what was produced, or for an
  /// addend the first whole that came of it.
  void forget_unsaved() {
    for (const Axis axis : every_axis) {
      for (std::vector<Copy>& all : copies_[static_cast<std::size_t>(axis)]) {
        for (Copy& copy : all) copy.conversion.reset();
        if (options_.keep_gathered || all.empty()) continue;
        const std::size_t saved = all[0].placement.is_partial() && all.size() > 1 ? 1 : 0;
        all = {all[saved]};
      }
    }
  }

  const Dataflow& dataflow_;
  DeriveOptions options_;
  Derivation result_;
  std::array<std::vector<std::vector<Copy>>, every_axis.size()> copies_;
};

}  // namespace

Derivation derive(const Dataflow& dataflow, const Mesh& mesh, DeriveOptions options) {
  return Deriver(dataflow, mesh, options).run();
}

void check_replacement(const Dataflow& dataflow, const Conversion& conversion, CollectiveOp op) {
  const bool sums = op == CollectiveOp::all_reduce || op == CollectiveOp::reduce_scatter;
  const bool leaves_whole = op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather;
  std::string wrong;
  if (sums != conversion.from.is_partial()) {
    wrong =
        sums ? "would add slices that are not addends" : "would move addends and never sum them";
  } else if (!leaves_whole && !conversion.to.is_shard()) {
    wrong = "would leave each rank with a slice";
  } else {
    return;
  }
  const std::string& name = dataflow.value(conversion.tensor).tensor.name;
  const std::string consumer = conversion.consumers.empty()
                                   ? std::string("the layout")
                                   : dataflow.node(conversion.consumers.front()).name;
  throw LayoutError(consumer, name,
                    fmt::format("{} of {} on {} {}, but {} needs it as {}", name_of(op), name,
                                name_of(conversion.axis), wrong, consumer, to_text(conversion.to)));
}

Bytes wire_bytes(const Derivation& derivation) {
  Bytes sum;
  for (const Conversion& conversion : derivation.conversions) {
    if (conversion.op)
      sum += weft::wire_bytes(*conversion.op, conversion.message, conversion.group);
  }
  return sum;
}

}  // namespace weft::model
