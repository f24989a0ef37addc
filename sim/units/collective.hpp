// SPDX-License-Identifier: Apache-2.0
// The collectives, and what each must move: the definitions of nccl-tests (doc/PERFORMANCE.md).
//
// The message is what nccl-tests prints as `size`: the full tensor for all-reduce, all-gather (its
// output) and reduce-scatter (its input), one rank's send buffer for all-to-all. Each rank must
// then send message * wire_numerator / p bytes: 2(p-1) for all-reduce, p-1 for the others.
// busbw/algbw is the same factor.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/units/bytes.hpp"

namespace weft {

enum class CollectiveOp : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all };

inline constexpr CollectiveOp every_collective_op[] = {
    CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce,
    CollectiveOp::all_to_all};

constexpr std::string_view name_of(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_gather:
      return "all_gather";
    case CollectiveOp::reduce_scatter:
      return "reduce_scatter";
    case CollectiveOp::all_reduce:
      return "all_reduce";
    case CollectiveOp::all_to_all:
      return "all_to_all";
  }
  return "unknown";
}

/// The collective of a name as name_of writes it; none if unknown.
constexpr std::optional<CollectiveOp> collective_op_of(std::string_view text) {
  for (const CollectiveOp op : every_collective_op) {
    if (text == name_of(op)) return op;
  }
  return std::nullopt;
}

/// The numerator over `ranks` of the share of the message that a rank sends: 2(p-1) or p-1.
constexpr std::int64_t wire_numerator(CollectiveOp op, int ranks) {
  return (op == CollectiveOp::all_reduce ? 2 : 1) * static_cast<std::int64_t>(ranks - 1);
}

/// Bytes each rank must send, rounded up to a whole byte; a group of one sends nothing.
constexpr Bytes wire_bytes(CollectiveOp op, Bytes message, int ranks) {
  if (ranks <= 1) return Bytes::from(0);
  const std::int64_t whole = message.count() / ranks;
  const std::int64_t rest = message.count() % ranks;
  const std::int64_t numerator = wire_numerator(op, ranks);
  return Bytes::from(whole * numerator + (rest * numerator + ranks - 1) / ranks);
}

}  // namespace weft
