// SPDX-License-Identifier: Apache-2.0
// Unsigned 128-bit integers for the solver's sums.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::sim {

__extension__ using UInt128 = unsigned __int128;

/// Bits needed to write `value`: 0 for 0.
constexpr int bit_length(UInt128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return high != 0 ? 128 - std::countl_zero(high) : 64 - std::countl_zero(low);
}

}  // namespace weft::sim
