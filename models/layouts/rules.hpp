// SPDX-License-Identifier: Apache-2.0
// Which placements each kind of operator can work on, along one axis of the mesh.
//
//   contract     (R,R)->R; a dimension of both and of the output: (S,S)->S; of one input and the
//   output:
//                (S,R)->S; a contracted one: (S,S)->Partial; an addend times a whole: (P,R)->P
//   elementwise  all whole, or all cut along one dimension; an input without that dimension stays
//   whole
//   linear       the same, or all addends
//   normalize    the same as elementwise, except along what it mixes; its weight's gradient is then
//   a P
//   attention    the same, along the dimensions that it does not mix
//   lookup       table cut along the indexed dimension -> Partial (each rank adds zeros for the
//   rows of
//                others); along the other: cut likewise; indices cut: rows cut
//   scatter      its transpose
//   reduce       cut along what it sums: Partial; else cut likewise
#pragma once

#include <string>
#include <vector>

#include "models/layouts/dataflow.hpp"
#include "models/layouts/placement.hpp"

namespace weft::model {

/// One way to run an operator along an axis.
struct Choice {
  std::vector<Placement> inputs;
  std::vector<Placement> outputs;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// Returns every way to run `node`, in a fixed order.
std::vector<Choice> choices_of(const Dataflow& dataflow, const Node& node);

/// Returns why `node` must not be given an input that lies as `placement` says; empty if a
/// conversion will do.
std::string refusal_of(const Node& node, const Placement& placement);

}  // namespace weft::model
