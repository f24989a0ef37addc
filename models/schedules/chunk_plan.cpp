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
  result.reserve(static_cast<std::size_t>(ranks_));
  each_piece(rank, chunk, [&](const Piece& piece) { result.push_back(piece); });
  return result;
}

std::int64_t ChunkPlan::rows_of(int rank, int chunk) const {
  std::int64_t rows = 0;
  each_piece(rank, chunk, [&](const Piece& piece) { rows += piece.rows.rows(); });
  return rows;
}

}  // namespace weft::model
