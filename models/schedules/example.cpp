// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/example.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft::model {

Boundary with_wgrad(Boundary boundary, Relation relation) {
  Operator wgrad = boundary.operators.front();
  wgrad.name = "wgrad";
  wgrad.pass = Pass::wgrad;
  // Operators are launched as they stand: beside a gather goes what stands before its consumer.
  const bool first =
      relation == Relation::independent &&
      std::any_of(boundary.pairs.begin(), boundary.pairs.end(),
                  [](const Pairing& pair) { return pair.relation == Relation::consumes; });
  for (Pairing& pair : boundary.pairs) pair.op += first ? 1 : 0;
  const std::size_t place = first ? 0 : boundary.operators.size();
  boundary.operators.insert(boundary.operators.begin() + static_cast<std::ptrdiff_t>(place),
                            std::move(wgrad));
  for (std::size_t c = 0; c < boundary.collectives.size(); ++c)
    boundary.pairs.push_back({c, place, relation});
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

std::optional<Boundary> example_of(const Schedule& schedule, const MatmulShape& global,
                                   const Site& site) {
  const Knobs knobs(schedule.info().knobs);
  for (Boundary& boundary : example_boundaries(global, site.ranks())) {
    if (schedule.refusals(boundary, knobs, site).empty()) return std::move(boundary);
  }
  return std::nullopt;
}

}  // namespace weft::model
