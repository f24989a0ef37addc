// SPDX-License-Identifier: Apache-2.0
// A boundary between computation and communication: what a schedule fuses.
//
// A boundary is a group of one or more collectives and the operators that run beside them. Each
// pair of a collective and an operator is `produces` (the operator makes what is sent), `consumes`
// (it needs what arrives) or `independent` (it may run at the same time: bulk overlap, as a wgrad
// beside the reduce-scatter of its dgrad). Boundaries are derived from placements; make_boundary
// derives a single one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/layouts/mesh.hpp"
#include "models/workloads/operator.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/collective.hpp"
#include "sim/units/dtype.hpp"

namespace weft::model {

enum class Phase : std::uint8_t { prefill, decode, forward, backward };

constexpr std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::prefill:
      return "prefill";
    case Phase::decode:
      return "decode";
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
  }
  return "unknown";
}

enum class Relation : std::uint8_t { produces, consumes, independent };

constexpr std::string_view name_of(Relation relation) {
  return relation == Relation::produces   ? "produces"
         : relation == Relation::consumes ? "consumes"
                                          : "independent";
}

/// The tensor of a collective as a matrix: `rows` x `columns` elements of the whole, before any
/// cut.
struct MatrixExtent {
  std::int64_t rows = 0;     ///< tokens
  std::int64_t columns = 0;  ///< features
  friend bool operator==(const MatrixExtent&, const MatrixExtent&) = default;
};

/// The dimension of that matrix that a placement cuts.
enum class MatrixDim : std::uint8_t { none, rows, columns };

/// One collective of a boundary.
struct BoundaryCollective {
  std::string name;    ///< "fc1.x.all_gather"
  std::string tensor;  ///< the tensor that is converted
  CollectiveOp op = CollectiveOp::all_gather;
  Axis axis = Axis::tp;
  int group = 1;  ///< ranks of the group
  Bytes message;  ///< as nccl-tests counts it
  TensorFormat format;
  MatrixExtent extent;
  MatrixDim from = MatrixDim::none;  ///< what is cut before: rows for an all-gather of token shards
  MatrixDim to = MatrixDim::none;  ///< what is cut after: rows for a reduce-scatter to token shards
  std::string from_dim;            ///< its name in the layout: "tokens", "hidden", ...
  std::string to_dim;
  friend bool operator==(const BoundaryCollective&, const BoundaryCollective&) = default;
};

/// How one collective and one operator of a boundary stand to each other.
struct Pairing {
  std::size_t collective = 0;  ///< index into Boundary::collectives
  std::size_t op = 0;          ///< index into Boundary::operators
  Relation relation = Relation::independent;
  friend bool operator==(const Pairing&, const Pairing&) = default;
};

/// A group of collectives and the operators beside them, every pair related.
struct Boundary {
  std::string name;  ///< "qkv", "proj", "fc1", "fc2", "fc1.backward", "embedding", "head"
  Phase phase = Phase::forward;
  std::vector<BoundaryCollective> collectives;  ///< in the order an unfused program issues them
  std::vector<Operator> operators;              ///< likewise
  std::vector<Pairing> pairs;                   ///< each collective with each operator, once
  std::int64_t count_per_layer = 1;             ///< equal boundaries in one layer
  std::int64_t layers = 1;                      ///< equal layers in the model
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// Returns how a collective and an operator of `boundary` stand to each other.
Relation relation_of(const Boundary& boundary, std::size_t collective, std::size_t op);

/// Returns the bytes of the operands and results of its operators on one rank: the least memory that any schedule of
/// it needs there.
Bytes operands_of(const Boundary& boundary);

/// The kinds that a `boundary` scenario names: one matrix product and one collective.
enum class BoundaryKind : std::uint8_t { ag_gemm, gemm_rs, gemm_ar, gemm_a2a };

inline constexpr BoundaryKind every_boundary_kind[] = {
    BoundaryKind::ag_gemm, BoundaryKind::gemm_rs, BoundaryKind::gemm_ar, BoundaryKind::gemm_a2a};

constexpr std::string_view name_of(BoundaryKind kind) {
  switch (kind) {
    case BoundaryKind::ag_gemm:
      return "ag_gemm";
    case BoundaryKind::gemm_rs:
      return "gemm_rs";
    case BoundaryKind::gemm_ar:
      return "gemm_ar";
    case BoundaryKind::gemm_a2a:
      return "gemm_a2a";
  }
  return "unknown";
}

/// Returns the kind of a boundary with one matrix product and one collective between which data
/// flows; none otherwise.
std::optional<BoundaryKind> kind_of(const Boundary& boundary);

/// Derives the boundary of one product M x N x K (of the whole group) whose operands are cut as its
/// kind says.
///
/// ag_gemm: X cut along tokens and gathered, W cut along N. gemm_rs and gemm_ar: X and W cut along
/// K. gemm_a2a: X cut along tokens, Y turned to a cut along N. Throws LayoutError where a cut does
/// not divide.
Boundary make_boundary(BoundaryKind kind, const MatmulShape& global, const TensorFormat& format,
                       int ranks);

}  // namespace weft::model
