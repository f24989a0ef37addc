// SPDX-License-Identifier: Apache-2.0
// Which collective turns one placement into another.
//
//   Shard(a) -> Replicate  all-gather        Partial -> Replicate  all-reduce
//   Shard(a) -> Shard(b)   all-to-all        Partial -> Shard(a)   reduce-scatter
//   Replicate -> anything  local (keep a slice, or keep the addend on one rank)
//   Shard(a) -> Partial    local (pad with zeros)
#pragma once

#include <optional>

#include "models/layouts/mesh.hpp"
#include "models/layouts/placement.hpp"
#include "models/layouts/tensor.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/collective.hpp"

namespace weft::model {

/// Returns the collective that turns `from` into `to`; none if every rank can do it alone.
std::optional<CollectiveOp> collective_between(const Placement& from, const Placement& to);

/// Returns the message of `op` on `axis`, as nccl-tests counts it, for a tensor that lies as
/// `before` says; every other axis has already cut it.
Bytes message_bytes(CollectiveOp op, const Tensor& tensor, const Placements& before, Axis axis,
                    const Mesh& mesh);

/// Returns the bytes each rank sends to turn `from` into `to` on `axis`; zero for local
/// conversions.
Bytes conversion_wire_bytes(const Tensor& tensor, const Placement& from, const Placement& to,
                            Axis axis, const Mesh& mesh);

}  // namespace weft::model
