// SPDX-License-Identifier: Apache-2.0
// Which samples constants may be fitted to. The rule is code, never a choice by hand: a quarter of the (N, K)
// pairs and a quarter of the (M, N, K) of the others, by hash, are held out; so are the whole Qwen family and
// every product of 6144 tokens. Collectives of others' tables are split by message size (calibration/fit).
#pragma once

#include <cstdint>
#include <string>

#include "calibration/sample/sample.hpp"

namespace weft::calibration {

enum class Part : std::uint8_t { fit, held_out };

/// How samples are grouped where one group after the other is left out of a fit: everything of one (N, K), or
/// of one (M, N, K). Samples without a shape are grouped by operation, ranks and bytes.
enum class Grouping : std::uint8_t { by_weights, by_shape };

/// Returns whether a case may be fitted. `published`: it is of another's table, not of ours.
[[nodiscard]] Part part_of(const Case& what, bool published);

/// Returns a text that is the same for cases of one group.
[[nodiscard]] std::string group_of(const Case& what, Grouping grouping);

/// Groups fall by hash into this many folds, and a fold is left out as a whole.
inline constexpr int fold_count = 10;

/// Returns the fold of a case, from 0 to below fold_count.
[[nodiscard]] int fold_of(const Case& what, Grouping grouping);

}  // namespace weft::calibration
