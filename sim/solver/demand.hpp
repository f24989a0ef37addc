// SPDX-License-Identifier: Apache-2.0
// What an activity asks of the resources it shares, in integers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/units/ids.hpp"

namespace weft::sim {

using ResourceId = Id<struct SharedResourceTag>;
using ActivityId = Id<struct SharedActivityTag>;

/// `amount / Demand::denominator` of the resource's unit per unit of the activity's progress.
struct ResourceUse {
  ResourceId resource;
  std::uint64_t amount = 1;  ///< below 2^48
};

/// numerator / denominator units of progress a second.
struct ProgressRate {
  std::uint64_t numerator = 0;    ///< below 2^62
  std::uint64_t denominator = 1;  ///< positive, below 2^48
};

/// One activity's coefficients, weight and cap. A flow counts progress in bytes: 1 on each link of
/// its path, or numerators of the striping over their denominator. A tile may count in tiles: its
/// bytes on each memory, its share of an SM times its own time on the SM's pipes.
struct Demand {
  std::span<const ResourceUse> uses = {};  ///< a resource named twice is charged the sum
  std::uint64_t denominator = 1;           ///< of every amount; positive, below 2^40
  /// At a common level the progress is weight / weight_per x level. A flow's weight is per byte; a
  /// tile of b bytes that shall be fair in bytes has weight_per = b.
  std::uint64_t weight = 1;      ///< positive, below 2^24
  std::uint64_t weight_per = 1;  ///< positive; times the denominator below 2^48
  std::optional<ProgressRate> cap =
      std::nullopt;                ///< none: only the resources limit it (it must use one)
  std::uint64_t multiplicity = 1;  ///< identical copies, each at the same rate; below 2^24
};

}  // namespace weft::sim
