// SPDX-License-Identifier: Apache-2.0
// Who owns which rows, and how rows are cut into chunks: ceil-blocks, empty owners and empty chunks legal.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::model {

/// A run of rows.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] constexpr std::int64_t rows() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return end <= begin; }
  friend constexpr bool operator==(const RowRange&, const RowRange&) = default;
};

/// Part `index` of `range` cut into `parts` blocks of ceil(rows / parts), the last ones short or empty.
constexpr RowRange block_of(RowRange range, std::int64_t parts, std::int64_t index) {
  const std::int64_t size = (range.rows() + parts - 1) / parts;
  const std::int64_t begin = std::min(range.end, range.begin + index * size);
  return {begin, std::min(range.end, begin + size)};
}

/// The rows that rank `owner` of `ranks` owns.
constexpr RowRange shard_of(std::int64_t rows, int ranks, int owner) {
  return block_of({0, rows}, ranks, owner);
}

}  // namespace weft::model
