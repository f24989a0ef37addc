// SPDX-License-Identifier: Apache-2.0
#include "models/layouts/conversion.hpp"

namespace weft::model {

std::optional<CollectiveOp> collective_between(const Placement& from, const Placement& to) {
  if (from == to || from.is_replicate() || to.is_partial()) return std::nullopt;
  if (from.is_partial()) {
    return to.is_shard() ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  }
  return to.is_shard() ? CollectiveOp::all_to_all : CollectiveOp::all_gather;
}

Bytes message_bytes(CollectiveOp op, const Tensor& tensor, const Placements& before, Axis axis,
                    const Mesh& mesh) {
  if (op == CollectiveOp::all_to_all) return bytes_of(local_part(tensor, before, mesh));
  return bytes_of(local_part(tensor, before.with(axis, Placement::replicate()), mesh));
}

Bytes conversion_wire_bytes(const Tensor& tensor, const Placement& from, const Placement& to,
                            Axis axis, const Mesh& mesh) {
  const std::optional<CollectiveOp> op = collective_between(from, to);
  if (!op || mesh.size(axis) == 1) return Bytes::from(0);
  return wire_bytes(*op, message_bytes(*op, tensor, Placements(axis, from), axis, mesh),
                    mesh.size(axis));
}

}  // namespace weft::model
