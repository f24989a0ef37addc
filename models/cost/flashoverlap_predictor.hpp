// SPDX-License-Identifier: Apache-2.0
// FlashOverlap's predictor: how long a product takes whose tiles go to a collective in groups, and which groupings
// its search looks at.
//
//   gemm' = gemm / ceil(T / SMs) * ceil(T / (SMs - 2))           two SMs are left to the collective
//   group i computes for gemm' / waves' * ceil(tiles_i / (SMs - 2)); group i-1 is sent once it is computed and
//   group i-2 is sent; one group alone takes the product's own time and then its transfer
//   transfer = elements * 2 * 2 (W-1) / bandwidth / 2^30 seconds for an all-reduce, half of it for a
//   reduce-scatter; the bandwidth is interpolated over elements, held at both ends
//
// Source: infinigence/FlashOverlap at 5b77f8b, tune/search.py: predict_lat, interpolate_latency, fast_search. Times
// are in its own unit, that of the product's duration; its bandwidth curve gives the transfers' in the same.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/units/collective.hpp"

namespace weft::model {

struct FlashOverlapProblem {
  std::int64_t m = 0, n = 0;
  std::int64_t tiles = 0;
  int sms = 0;
  int ranks = 2;
  CollectiveOp op = CollectiveOp::all_reduce;
  double gemm = 0;  ///< duration of the product alone
  /// Elements and the bandwidth measured there, ascending in elements.
  std::vector<std::pair<double, double>> bandwidth;
};

/// Duration of one transfer of so many elements.
[[nodiscard]] double flashoverlap_transfer(const FlashOverlapProblem& problem, double elements);

/// Predicted duration with these groups of tiles, which sum to the problem's tiles.
[[nodiscard]] double flashoverlap_predict(const FlashOverlapProblem& problem,
                                          const std::vector<std::int64_t>& groups);

/// The groupings of its search, in tiles, each of whole (merged) waves: every composition of at most ten merged
/// waves, but for those of more than five groups whose first is longer than two.
[[nodiscard]] std::vector<std::vector<std::int64_t>> flashoverlap_groupings(
    const FlashOverlapProblem& problem);

}  // namespace weft::model
