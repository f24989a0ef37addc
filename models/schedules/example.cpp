// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/example.hpp"

#include <utility>

namespace weft::model {

Boundary with_wgrad(Boundary boundary, Relation relation) {
  Operator wgrad = boundary.operators.front();
  wgrad.name = "wgrad";
  wgrad.pass = Pass::wgrad;
  boundary.operators.push_back(std::move(wgrad));
  for (std::size_t c = 0; c < boundary.collectives.size(); ++c)
    boundary.pairs.push_back({c, boundary.operators.size() - 1, relation});
  return boundary;
}

std::vector<Boundary> example_boundaries(const MatmulShape& global, int ranks) {
  std::vector<Boundary> all;
  for (const BoundaryKind kind : every_boundary_kind)
    all.push_back(make_boundary(kind, global, {}, ranks));
  all.push_back(
      with_wgrad(make_boundary(BoundaryKind::ag_gemm, global, {}, ranks), Relation::independent));
  all.push_back(
      with_wgrad(make_boundary(BoundaryKind::gemm_rs, global, {}, ranks), Relation::independent));
  all.push_back(
      with_wgrad(make_boundary(BoundaryKind::ag_gemm, global, {}, ranks), Relation::consumes));
  TensorFormat fp8;
  fp8.element = DType::fp8_e4m3;
  all.push_back(make_boundary(BoundaryKind::ag_gemm, global, fp8, ranks));
  return all;
}

}  // namespace weft::model
