// SPDX-License-Identifier: Apache-2.0
// Which published rows constants may be fitted on. The rule is committed, never a choice by hand: collectives by
// message size, GEMM and attention by a hash of the shape.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "calibration/import/published_table.hpp"

namespace weft::calibration {

/// A collective row may be fitted if its message is a power of four bytes; all others are held out.
constexpr bool is_fit_row(const CollectiveSample& sample) {
  const auto bytes = static_cast<std::uint64_t>(sample.message.count());
  return std::has_single_bit(bytes) && std::countr_zero(bytes) % 2 == 0;
}

/// FNV-1a over the bytes of the numbers, lowest first: the same everywhere.
constexpr std::uint64_t shape_hash(std::initializer_list<std::int64_t> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::int64_t number : numbers) {
    for (int shift = 0; shift < 64; shift += 8) {
      hash ^= (static_cast<std::uint64_t>(number) >> shift) & 0xffu;
      hash *= 0x100000001b3u;
    }
  }
  return hash;
}

/// Half of the shapes, whatever was measured of them.
constexpr bool is_fit_row(const GemmSample& sample) {
  return (shape_hash({sample.m, sample.n, sample.k}) >> 32) % 2 == 0;
}
constexpr bool is_fit_row(const AttentionSample& sample) {
  return (shape_hash(
              {sample.batch, sample.tokens, sample.heads, sample.kv_heads, sample.head_dim}) >>
          32) %
             2 ==
         0;
}

}  // namespace weft::calibration
