// SPDX-License-Identifier: Apache-2.0
// How a boundary's rows are cut into chunks, for each rank of the group.
//
// sliced:  chunk i holds the i-th part of every owner's rows: the same rows on every rank, as a collective
//          kernel needs them.
// rotated: rank r takes the owners' rows in the order r+1, r+2, ... and cuts that sequence into equal chunks;
//          its own rows are a chunk of their own, first where they are read and last where they are sent, since
//          they cross no link.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/schedules/rows.hpp"

namespace weft::model {

enum class ChunkOrder : std::uint8_t { sliced, rotated };

[[nodiscard]] constexpr std::string_view name_of(ChunkOrder order) {
  return order == ChunkOrder::sliced ? "sliced" : "rotated";
}

/// Rows of one owner inside a chunk.
struct Piece {
  int owner = 0;
  RowRange rows;
  friend bool operator==(const Piece&, const Piece&) = default;
};

class ChunkPlan {
 public:
  /// `rows` rows owned in ceil-blocks by `ranks` ranks; `chunks` counts those with something to move, so that a
  /// rotated plan has one more. `own_first`: the rank's own rows come first (a gather) or last (a reduction).
  ChunkPlan(std::int64_t rows, int ranks, int chunks, ChunkOrder order, bool own_first);

  /// Chunks of the plan, that of a rank's own rows counted.
  [[nodiscard]] int size() const;
  /// The rows of `chunk` on `rank`, owner by owner, empty pieces left out.
  [[nodiscard]] std::vector<Piece> pieces(int rank, int chunk) const;
  /// Rows of `chunk` on `rank`.
  [[nodiscard]] std::int64_t rows_of(int rank, int chunk) const;
  [[nodiscard]] ChunkOrder order() const { return order_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  std::int64_t rows_;
  int ranks_;
  int chunks_;
  ChunkOrder order_;
  bool own_first_;
};

}  // namespace weft::model
