// SPDX-License-Identifier: Apache-2.0
// Which rank owns which rows, and how a shard is cut into chunks: ceil blocks, so that M need not
// be a multiple of the ranks, and late owners may be empty.
#pragma once

#include <algorithm>

namespace weft::kernels::shapes {

/// A half-open range of rows.
struct Rows {
  int begin = 0;
  int end = 0;
  /// Returns the number of rows, zero for an empty owner.
  constexpr int count() const { return end - begin; }
  friend constexpr bool operator==(const Rows&, const Rows&) = default;
};

/// Returns a / b rounded up, for a >= 0 and b > 0.
constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

/// How the rows of a matrix are owned by ranks and cut into chunks.
struct Ownership {
  int rows = 0;              ///< of the whole matrix
  int ranks = 1;             ///< owners
  int chunks_per_shard = 1;  ///< pieces that each owner's rows travel in

  /// Returns the rows of every shard but the late ones.
  constexpr int shard_rows() const { return ceil_div(rows, ranks); }
  /// Returns the rows of every chunk but the late ones of a shard.
  constexpr int chunk_rows() const { return ceil_div(shard_rows(), chunks_per_shard); }
  /// Returns the number of chunks over all shards; chunk c of shard r has the index r *
  /// chunks_per_shard + c.
  constexpr int chunks() const { return ranks * chunks_per_shard; }

  /// Returns the rows that `rank` owns.
  constexpr Rows shard(int rank) const {
    const int begin = std::min(rows, rank * shard_rows());
    return {begin, std::min(rows, begin + shard_rows())};
  }
  /// Returns the rows of chunk `index`.
  constexpr Rows chunk(int index) const {
    const Rows owned = shard(index / chunks_per_shard);
    const int begin = std::min(owned.end, owned.begin + index % chunks_per_shard * chunk_rows());
    return {begin, std::min(owned.end, begin + chunk_rows())};
  }
  /// Returns the chunk that holds `row`, for 0 <= row < rows.
  constexpr int chunk_of(int row) const {
    const int rank = row / shard_rows();
    return rank * chunks_per_shard + (row - rank * shard_rows()) / chunk_rows();
  }
};

}  // namespace weft::kernels::shapes
