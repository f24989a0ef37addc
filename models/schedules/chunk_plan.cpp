// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/chunk_plan.hpp"

#include "sim/units/check.hpp"

namespace weft::model {

ChunkPlan::ChunkPlan(std::int64_t rows, int ranks, int chunks, ChunkOrder order, bool own_first)
    : rows_(rows), ranks_(ranks), chunks_(chunks), order_(order), own_first_(own_first) {
  WEFT_CHECK(rows >= 0 && ranks >= 1 && chunks >= 1, "{} rows, {} ranks and {} chunks make no plan",
             rows, ranks, chunks);
}

int ChunkPlan::size() const {
  return order_ == ChunkOrder::sliced ? chunks_ : chunks_ + 1;
}

std::vector<Piece> ChunkPlan::pieces(int rank, int chunk) const {
  std::vector<Piece> result;
  const auto add = [&](int owner, RowRange rows) {
    if (!rows.empty()) result.push_back({owner, rows});
  };
  if (order_ == ChunkOrder::sliced) {
    // Own rows stand where the rank's order puts them; the set of rows is the same on every rank.
    for (int step = 0; step < ranks_; ++step) {
      const int owner = (rank + step + (own_first_ ? 0 : 1)) % ranks_;
      add(owner, block_of(shard_of(rows_, ranks_, owner), chunks_, chunk));
    }
    return result;
  }
  const int own_chunk = own_first_ ? 0 : chunks_;
  if (chunk == own_chunk) {
    add(rank, shard_of(rows_, ranks_, rank));
    return result;
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
  return result;
}

std::int64_t ChunkPlan::rows_of(int rank, int chunk) const {
  std::int64_t rows = 0;
  for (const Piece& piece : pieces(rank, chunk)) rows += piece.rows.rows();
  return rows;
}

}  // namespace weft::model
