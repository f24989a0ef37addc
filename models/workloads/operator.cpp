// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/operator.hpp"

#include <algorithm>

#include "models/workloads/assemble.hpp"
#include "models/workloads/attention.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

bool has(const Tensor& tensor, const std::string& dim) {
  return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                     [&](const Dim& each) { return each.name == dim; });
}

/// M, N and K: dimensions of x and y, of w and y, of x and w.
MatmulShape shape_of(const Tensor& x, const Tensor& w, const Tensor& y) {
  MatmulShape shape{1, 1, 1};
  for (const Dim& dim : x.dims) {
    std::int64_t& side = has(y, dim.name) ? shape.m : shape.k;
    side = checked_multiply(side, dim.size);
  }
  for (const Dim& dim : w.dims) {
    if (has(y, dim.name)) shape.n = checked_multiply(shape.n, dim.size);
  }
  return shape;
}

AttentionWork attention_of(const Tensor& qkv, const Tensor& out, const Placements& placements,
                           const Mesh& mesh, const AttentionContext& context, bool backward) {
  AttentionWork work;
  work.sequences = context.sequences;
  work.query_length = context.query_length;
  work.kv_length = context.kv_length;
  work.heads = size_of(out, "heads");
  const bool cut = placements.on(Axis::tp).is_shard("heads");
  work.kv_heads = context.kv_heads / (cut ? mesh.size(Axis::tp) : 1);
  work.head_dim = size_of(out, "head_dim");
  work.window = context.window;
  work.backward = backward;
  work.format = qkv.format;
  work.cache = context.uses_cache ? context.cache : qkv.format;
  return work;
}

/// Keys and values of the tokens that the new ones can see, of one rank.
Bytes visible_cache(const AttentionWork& work) {
  const std::int64_t seen = work.window == 0
                                ? work.kv_length
                                : std::min(work.kv_length, work.window + work.query_length - 1);
  return bytes_of(work.cache,
                  checked_multiply(2 * work.sequences * work.kv_heads * work.head_dim, seen));
}

}  // namespace

const MatmulWork* matmul_of(const Operator& op) {
  return std::get_if<MatmulWork>(&op.work);
}

Operator operator_of(const Dataflow& flow, const Derivation& derivation, NodeId id,
                     const AttentionContext& context, const std::map<NodeId, Tensor>& touched) {
  const Node& node = flow.node(id);
  Operator op;
  op.name = node.name;
  op.pass = id.value() < flow.backward_begin() ? Pass::forward
            : node.weight_gradient             ? Pass::wgrad
                                               : Pass::dgrad;
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  Bytes read;
  Bytes written;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Placements& placements = derivation.inputs[id.value()][i];
    op.inputs.push_back({flow.value(node.inputs[i]).tensor, placements});
    in.push_back(local_part(op.inputs.back().tensor, placements, derivation.mesh));
    read += bytes_of(in.back());
  }
  for (const TensorId output : node.outputs) {
    const Placements& placements = derivation.values[output.value()];
    op.outputs.push_back({flow.value(output).tensor, placements});
    out.push_back(local_part(op.outputs.back().tensor, placements, derivation.mesh));
    written += bytes_of(out.back());
  }
  op.work = ElementwiseWork{node.what, elements_of(out.front())};

  switch (node.rule) {
    case Rule::contract: {
      const MatmulShape rank = shape_of(in[0], in[1], out[0]);
      op.work =
          MatmulWork{rank, shape_of(op.inputs[0].tensor, op.inputs[1].tensor, op.outputs[0].tensor),
                     in[0].format, in[1].format, out[0].format};
      op.flops = Flops::from(2) * rank.m * rank.n * rank.k;
      break;
    }
    case Rule::attention: {
      const bool backward = op.pass != Pass::forward;
      const Tensor& heads = backward ? in[0] : out[0];
      const AttentionWork work =
          attention_of(in.back(), heads, derivation.inputs[id.value()].back(), derivation.mesh,
                       context, backward);
      op.work = work;
      op.flops = attention_flops(problem_of(work));
      if (context.uses_cache) {
        // Queries come from qkv; keys and values are appended to the cache, and read from there.
        const Bytes fresh = bytes_of(
            work.cache, 2 * work.sequences * work.query_length * work.kv_heads * work.head_dim);
        read += visible_cache(work) - fresh;
        written += fresh;
      }
      // The output, and one fp32 a row and head for its softmax, are read again.
      if (backward) {
        read += bytes_of(heads) +
                bytes_of(DType::fp32, work.sequences * work.query_length * work.heads);
      }
      break;
    }
    case Rule::lookup:
      read = bytes_of(in[0]) + bytes_of(out[0]);  // the rows that are selected, not the table
      break;
    case Rule::scatter:
      // Each row of the table that is hit is read, added to and written.
      read = bytes_of(in[0]) * 2 + bytes_of(in[1]);
      written = bytes_of(in[0]);
      break;
    case Rule::elementwise:
    case Rule::linear:
    case Rule::normalize:
    case Rule::reduce:
      break;
  }
  if (const auto found = touched.find(id); found != touched.end()) {
    const bool same_cut = has(found->second, "heads");
    const Bytes part = bytes_of(
        same_cut ? local_part(found->second, derivation.inputs[id.value()][0], derivation.mesh)
                 : found->second);
    const auto streams = std::count_if(node.inputs.begin(), node.inputs.end(),
                                       [&](TensorId input) { return !flow.value(input).weight; });
    read = part * streams;
    written = part;
  }
  op.read = read;
  op.written = written;
  return op;
}

}  // namespace weft::model
