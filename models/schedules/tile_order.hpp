// SPDX-License-Identifier: Apache-2.0
// What tiles cost that are walked in the order of their chunks, where plain products are walked in blocks as square as
// a group of 2,048 rows allows.
//
//   operands of a wave = (rows of X + rows of W that its tiles touch) K bytes
//   r = operands of a wave / (time of a tile * HBM rate)
//   time of a tile = that of the plain walk * ((1 + r^3) / (1 + r0^3))^(1/3),  r0: of the plain walk
//
// A low group of rows is swept across all columns, so that the next sweep finds nothing of W in the L2 if W is larger
// than half of it; where it is not, the order costs nothing. Ignored: what a sweep leaves behind of a W that is little
// larger than the L2.
#pragma once

#include <cstdint>

#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"
#include "models/workloads/operator.hpp"

namespace weft::model {

struct OrderedTiles {
  Duration tile_time;
  Bytes hbm_per_tile;
};

/// Tiles of a product by the kernel of `cost`, `rows_together` rows of X at a time, by one of `sharers` partitions of a
/// device.
[[nodiscard]] OrderedTiles tiles_in_order(const Profile& profile, const MatmulWork& work,
                                          const GemmCost& cost, std::int64_t rows_together,
                                          double sharers = 1);

}  // namespace weft::model
