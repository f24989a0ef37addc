// SPDX-License-Identifier: Apache-2.0
// Where the verdict "overlap" flips as one dimension of a boundary grows: the point between what is worth overlapping
// and what is not.
//
// The dimension is doubled over its range and each point planned whole; between two neighbours with different
// verdicts it is halved on a grid of the least step until the flip is known to one step. Verdicts can flip back (a
// wave more, another algorithm of the library): every flip that a doubling shows is reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

/// tokens: M. hidden: the dimension that the ranks do not cut, N of gemm_rs and gemm_ar, K of the others. tp: ranks.
enum class BreakEvenAxis : std::uint8_t { tokens, hidden, tp };

inline constexpr BreakEvenAxis every_break_even_axis[] = {BreakEvenAxis::tokens,
                                                          BreakEvenAxis::hidden, BreakEvenAxis::tp};

constexpr std::string_view name_of(BreakEvenAxis axis) {
  return axis == BreakEvenAxis::tokens ? "tokens" : axis == BreakEvenAxis::hidden ? "hidden" : "tp";
}

/// The plan at one value.
struct Verdict {
  std::int64_t value = 0;
  bool overlap = false;
  std::string schedule;
  Duration serial;
  Duration picked;
};

/// Two neighbouring values between which the verdict differs.
struct Flip {
  Verdict before;
  Verdict after;
};

struct BreakEven {
  BreakEvenAxis axis = BreakEvenAxis::tokens;
  std::vector<Verdict> verdicts;  ///< by value, the doublings
  std::vector<Flip> flips;
};

/// Walks the axis from a boundary scenario. Throws config::ConfigErrors for any other scenario.
[[nodiscard]] BreakEven break_even(const Scenario& scenario, BreakEvenAxis axis,
                                   const config::SearchPath& search_path,
                                   const PlanOptions& options = {});

}  // namespace weft::model
