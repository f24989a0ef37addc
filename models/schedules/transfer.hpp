// SPDX-License-Identifier: Apache-2.0
// What a schedule moves, as index sets: the proof that it delivers is made on these.
//
// The laws (models/schedules/delivery.hpp checks them on every schedule): each rank receives each element that
// it needs exactly once, and each rank's addend enters each reduction exactly once.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace weft::model {

/// A rectangle of the collective's matrix: rows [row, row + rows) x columns [column, column + columns).
struct Block {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  [[nodiscard]] bool empty() const { return rows <= 0 || columns <= 0; }
  friend auto operator<=>(const Block&, const Block&) = default;
};

/// One block on its way from one rank of the group to another.
///
/// In a gather the block is final and lands in place. In a reduction it carries the sum of `addends` and is
/// added at its target. A switch that reduces or multicasts is one transfer for each rank that it serves.
struct Transfer {
  enum class Kind : std::uint8_t { gather, reduce } kind = Kind::gather;
  int from = 0;
  int to = 0;
  Block block;
  std::vector<int> addends;  ///< of a reduction: ranks, ascending
  int chunk = 0;             ///< of the schedule, in the order of its issue
  int step = 0;              ///< inside the chunk: transfers of a step do not wait for each other
  bool in_network =
      false;  ///< reduced or multicast by a switch: its port's bytes are shared with its peers
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

}  // namespace weft::model
