// SPDX-License-Identifier: Apache-2.0
#include "models/workloads/boundary.hpp"

#include <fmt/core.h>

#include "models/layouts/dataflow.hpp"
#include "models/layouts/derive.hpp"
#include "models/layouts/error.hpp"
#include "models/workloads/assemble.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

void check_shape(BoundaryKind kind, const MatmulShape& shape, int ranks) {
  std::string wrong;
  const auto need = [&](bool ok, const std::string& what) {
    if (!ok) wrong += (wrong.empty() ? "" : "; ") + what;
  };
  need(shape.m > 0 && shape.n > 0 && shape.k > 0, "M, N and K are at least 1");
  need(ranks > 1, "a boundary needs at least 2 ranks: one rank sends nothing");
  if (wrong.empty()) {
    const auto divides = [&](std::int64_t size, const char* name) {
      need(size % ranks == 0,
           fmt::format("{} = {} does not divide by {} ranks", name, size, ranks));
    };
    if (kind != BoundaryKind::gemm_ar) divides(shape.m, "M");
    if (kind == BoundaryKind::ag_gemm || kind == BoundaryKind::gemm_a2a) divides(shape.n, "N");
    if (kind == BoundaryKind::gemm_rs || kind == BoundaryKind::gemm_ar) divides(shape.k, "K");
  }
  if (!wrong.empty()) {
    const std::string name(name_of(kind));
    throw LayoutError(name, "x", fmt::format("{}: {}", name, wrong));
  }
}

}  // namespace

Bytes operands_of(const Boundary& boundary) {
  Bytes sum;
  for (const Operator& op : boundary.operators) sum += op.read + op.written;
  return sum;
}

Relation relation_of(const Boundary& boundary, std::size_t collective, std::size_t op) {
  for (const Pairing& pair : boundary.pairs) {
    if (pair.collective == collective && pair.op == op) return pair.relation;
  }
  WEFT_CHECK(false, "{}: no pair of collective {} and operator {}", boundary.name, collective, op);
  return Relation::independent;
}

std::optional<BoundaryKind> kind_of(const Boundary& boundary) {
  if (boundary.collectives.size() != 1) return std::nullopt;
  std::optional<BoundaryKind> kind;
  for (std::size_t i = 0; i < boundary.operators.size(); ++i) {
    const Relation relation = relation_of(boundary, 0, i);
    if (relation == Relation::independent || matmul_of(boundary.operators[i]) == nullptr) continue;
    if (kind) return std::nullopt;
    const bool produces = relation == Relation::produces;
    switch (boundary.collectives[0].op) {
      case CollectiveOp::all_gather:
        if (!produces) kind = BoundaryKind::ag_gemm;
        break;
      case CollectiveOp::reduce_scatter:
        if (produces) kind = BoundaryKind::gemm_rs;
        break;
      case CollectiveOp::all_reduce:
        if (produces) kind = BoundaryKind::gemm_ar;
        break;
      case CollectiveOp::all_to_all:
        if (produces) kind = BoundaryKind::gemm_a2a;
        break;
    }
  }
  return kind;
}

Boundary make_boundary(BoundaryKind kind, const MatmulShape& global, const TensorFormat& input,
                       const TensorFormat& output, int ranks) {
  check_shape(kind, global, ranks);
  const Dim tokens{"tokens", global.m};
  const Dim out{"out", global.n};
  const Dim in{"in", global.k};
  const auto cut = [](const char* dim) { return Placements(Axis::tp, Placement::shard(dim)); };
  const bool gathers = kind == BoundaryKind::ag_gemm;
  const bool turns = kind == BoundaryKind::gemm_a2a;

  Dataflow flow;
  const Tensor x{"x", {tokens, in}, input};
  // What a product before an all-to-all reads stays where it is, as a weight does.
  const TensorId x_id = turns     ? flow.weight(x, cut("tokens"))
                        : gathers ? flow.input(x, cut("tokens"))
                                  : flow.input(x, cut("in"));
  const TensorId w_id = flow.weight({"w", {out, in}, input}, turns     ? Placements{}
                                                             : gathers ? cut("out")
                                                                       : cut("in"));
  Node gemm;
  gemm.name = "gemm";
  gemm.rule = Rule::contract;
  gemm.what = "matmul";
  gemm.inputs = {x_id, w_id};
  const TensorId y = flow.add(std::move(gemm), {{"y", {tokens, out}, output}}).front();
  switch (kind) {
    case BoundaryKind::ag_gemm:
    case BoundaryKind::gemm_a2a:
      flow.place(y, cut("out"));
      break;
    case BoundaryKind::gemm_rs:
      flow.place(y, cut("tokens"));
      break;
    case BoundaryKind::gemm_ar:
      flow.place(y, {});
      break;
  }
  const Derivation derivation = derive(flow, Mesh().with(Axis::tp, ranks));
  std::vector<LayerPart> parts =
      assemble(flow, derivation, 0, flow.nodes(), Phase::forward, {}, {});
  WEFT_CHECK(parts.size() == 1 && std::holds_alternative<Boundary>(parts.front()),
             "{} of {} ranks is not one boundary", name_of(kind), ranks);
  Boundary boundary = std::get<Boundary>(std::move(parts.front()));
  boundary.name = name_of(kind);
  return boundary;
}

Boundary make_boundary(BoundaryKind kind, const MatmulShape& global, const TensorFormat& format,
                       int ranks) {
  const TensorFormat output =
      bits_of(format.element) > 8 ? format : TensorFormat{DType::bf16, DType::fp32, 0};
  return make_boundary(kind, global, format, output, ranks);
}

}  // namespace weft::model
