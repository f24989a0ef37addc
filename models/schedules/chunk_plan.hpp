// SPDX-License-Identifier: Apache-2.0
// How a boundary's rows are cut into chunks, for each rank of the group.
//
// sliced:  chunk i holds the i-th part of every owner's rows: the same rows on every rank, as a collective
//          kernel needs them.
// rotated: rank r takes the owners' rows in the order r+1, r+2, ... and cuts that sequence into equal chunks;
//          its own rows are a chunk of their own, first where they are read and last where they are sent, since
//          they cross no link.
#pragma once

#include <algorithm>
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
  /// Calls `visit(piece)` for the rows of `chunk` on `rank`, owner by owner, empty pieces left out.
  template <class Visit>
  void each_piece(int rank, int chunk, Visit&& visit) const;
  /// The same as a list.
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

template <class Visit>
void ChunkPlan::each_piece(int rank, int chunk, Visit&& visit) const {
  const auto add = [&](int owner, RowRange rows) {
    if (!rows.empty()) visit(Piece{owner, rows});
  };
  if (order_ == ChunkOrder::sliced) {
    // Own rows stand where the rank's order puts them; the set of rows is the same on every rank.
    for (int step = 0; step < ranks_; ++step) {
      const int owner = (rank + step + (own_first_ ? 0 : 1)) % ranks_;
      add(owner, block_of(shard_of(rows_, ranks_, owner), chunks_, chunk));
    }
    return;
  }
  const int own_chunk = own_first_ ? 0 : chunks_;
  if (chunk == own_chunk) {
    add(rank, shard_of(rows_, ranks_, rank));
    return;
  }
  const RowRange own = shard_of(rows_, ranks_, rank);
  const RowRange part = block_of({0, rows_ - own.rows()}, chunks_, own_first_ ? chunk - 1 : chunk);
  std::int64_t place = 0;  // of the owner's first row in the rotated sequence
  for (int step = 1; step < ranks_; ++step) {
    const int owner = (rank + step) % ranks_;
    const RowRange shard = shard_of(rows_, ranks_, owner);
    const std::int64_t begin = std::max(part.begin, place);
    const std::int64_t end = std::min(part.end, place + shard.rows());
    if (begin < end) add(owner, {shard.begin + begin - place, shard.begin + end - place});
    place += shard.rows();
  }
}

}  // namespace weft::model
