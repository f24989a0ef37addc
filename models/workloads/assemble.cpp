// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/assemble.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "sim/units/check.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

struct Group {
  std::set<std::size_t> conversions;
  std::set<NodeId> nodes;
};

MatrixDim side_of(const Tensor& tensor, const Placement& placement) {
  if (!placement.is_shard()) return MatrixDim::none;
  return tensor.dims.front().name == placement.dim() ? MatrixDim::rows : MatrixDim::columns;
}

class Assembler {
 public:
  Assembler(const Dataflow& flow, const Derivation& derivation, std::size_t begin, std::size_t end,
            Phase phase)
      : flow_(flow), derivation_(derivation), begin_(begin), end_(end), phase_(phase) {
    for (std::size_t i = 0; i < derivation.conversions.size(); ++i) {
      const Conversion& conversion = derivation.conversions[i];
      if (conversion.op && inside(conversion)) join({{i}, beside(conversion)});
    }
  }

  std::vector<LayerPart> run(const AttentionContext& attention,
                             const std::map<NodeId, Tensor>& touched) const {
    std::vector<LayerPart> parts;
    const auto make = [&](NodeId id) {
      return operator_of(flow_, derivation_, id, attention, touched);
    };
    for (std::size_t i = begin_; i < end_; ++i) {
      const NodeId id(static_cast<std::uint32_t>(i));
      const Group* group = group_of(id);
      if (group == nullptr) {
        parts.emplace_back(make(id));
      } else if (*group->nodes.begin() == id) {
        parts.emplace_back(boundary_of(*group, make));
      }
    }
    return parts;
  }

 private:
  bool inside(const Conversion& conversion) const {
    return conversion.backward == (begin_ >= flow_.backward_begin());
  }
  bool is_product(NodeId id) const { return flow_.node(id).rule == Rule::contract; }

  std::set<NodeId> beside(const Conversion& conversion) const {
    std::set<NodeId> products;
    const auto add = [&](NodeId id) {
      if (!is_product(id)) return;
      products.insert(id);
      for (std::size_t i = begin_; i < end_; ++i) {
        const NodeId other(static_cast<std::uint32_t>(i));
        const auto& forward = flow_.node(other).forward;
        if (forward && forward == flow_.node(id).forward) products.insert(other);
      }
    };
    if (conversion.producer) add(*conversion.producer);
    for (const NodeId consumer : conversion.consumers) add(consumer);
    if (!products.empty()) return products;
    if (conversion.producer) return {*conversion.producer};
    WEFT_CHECK(!conversion.consumers.empty(), "a conversion of {} that nobody needs",
               flow_.value(conversion.tensor).tensor.name);
    return {conversion.consumers.front()};
  }

  void join(Group group) {
    std::vector<Group> apart;
    for (Group& other : groups_) {
      const bool shared = std::any_of(other.nodes.begin(), other.nodes.end(),
                                      [&](NodeId id) { return group.nodes.contains(id); });
      if (shared) {
        group.conversions.merge(other.conversions);
        group.nodes.merge(other.nodes);
      } else {
        apart.push_back(std::move(other));
      }
    }
    apart.push_back(std::move(group));
    groups_ = std::move(apart);
  }

  const Group* group_of(NodeId id) const {
    for (const Group& group : groups_) {
      if (group.nodes.contains(id)) return &group;
    }
    return nullptr;
  }

  template <class Make>
  Boundary boundary_of(const Group& group, const Make& make) const {
    Boundary boundary;
    const std::string& first = flow_.node(*group.nodes.begin()).name;
    boundary.name = first.substr(0, first.find('.'));
    if (phase_ == Phase::backward && begin_ >= flow_.backward_begin()) boundary.name += ".backward";
    boundary.phase = phase_;
    for (const NodeId id : group.nodes) boundary.operators.push_back(make(id));
    for (const std::size_t index : group.conversions) {
      const Conversion& conversion = derivation_.conversions[index];
      const std::size_t c = boundary.collectives.size();
      boundary.collectives.push_back(collective_of(flow_, derivation_, conversion));
      std::size_t o = 0;
      for (const NodeId id : group.nodes) {
        const bool uses = std::find(conversion.consumers.begin(), conversion.consumers.end(), id) !=
                          conversion.consumers.end();
        const Relation relation = conversion.producer == id ? Relation::produces
                                  : uses                    ? Relation::consumes
                                                            : Relation::independent;
        boundary.pairs.push_back({c, o++, relation});
      }
    }
    return boundary;
  }

  const Dataflow& flow_;
  const Derivation& derivation_;
  std::size_t begin_;
  std::size_t end_;
  Phase phase_;
  std::vector<Group> groups_;
};

}  // namespace

BoundaryCollective collective_of(const Dataflow& flow, const Derivation& derivation,
                                 const Conversion& conversion) {
  WEFT_CHECK(conversion.op.has_value(), "{} is converted without a collective",
             flow.value(conversion.tensor).tensor.name);
  const Placements whole =
      derivation.values[conversion.tensor.value()].with(conversion.axis, Placement::replicate());
  const Tensor& tensor = flow.value(conversion.tensor).tensor;
  const Tensor extent = local_part(tensor, whole, derivation.mesh);
  BoundaryCollective collective;
  collective.name = fmt::format("{}.{}", tensor.name, name_of(*conversion.op));
  collective.tensor = tensor.name;
  collective.op = *conversion.op;
  collective.axis = conversion.axis;
  collective.group = conversion.group;
  collective.message = conversion.message;
  collective.format = tensor.format;
  collective.extent = {extent.dims.front().size, 1};
  for (std::size_t i = 1; i < extent.dims.size(); ++i) {
    collective.extent.columns = checked_multiply(collective.extent.columns, extent.dims[i].size);
  }
  collective.from = side_of(tensor, conversion.from);
  collective.to = side_of(tensor, conversion.to);
  collective.from_dim = conversion.from.dim();
  collective.to_dim = conversion.to.dim();
  return collective;
}

std::vector<LayerPart> assemble(const Dataflow& flow, const Derivation& derivation,
                                std::size_t begin, std::size_t end, Phase phase,
                                const AttentionContext& attention,
                                const std::map<NodeId, Tensor>& touched) {
  return Assembler(flow, derivation, begin, end, phase).run(attention, touched);
}

}  // namespace weft::model
