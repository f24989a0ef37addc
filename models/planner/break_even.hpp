// SPDX-License-Identifier: Apache-2.0
// Where the verdict "overlap" flips as one dimension of a boundary or a model grows: the point between what is worth
// overlapping and what is not.
//
// The dimension is doubled over its range and each point planned whole; between two neighbours with different
// verdicts it is halved on a grid of the least step until the flip is known to one step. Verdicts can flip back (a
// wave more, another algorithm of the library): every flip that a doubling shows is reported. A boundary with a named
// schedule chooses between it and none; a model is walked in the layout that its own plan picks, and "overlap" means
// that a layer runs with a pick that overlaps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

/// tokens: M, or those of one replica and step. hidden: the dimension that the ranks do not cut, N of gemm_rs and
/// gemm_ar, K of the others; or the width of the model. tp: ranks of the group.
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
  std::string schedule;  ///< of a model: those that its layers run, each once
  Duration serial;       ///< of the boundary, or of the model's step
  Duration picked;
};

/// Two neighbouring values between which the verdict differs.
struct Flip {
  Verdict before;
  Verdict after;
};

/// A value at which nothing can be planned.
struct LeftOut {
  std::int64_t value = 0;
  std::string reason;
};

struct BreakEven {
  BreakEvenAxis axis = BreakEvenAxis::tokens;
  std::string layout;             ///< of a model's walk; empty for a boundary
  std::vector<Verdict> verdicts;  ///< by value, the doublings
  std::vector<Flip> flips;
  std::vector<LeftOut> left_out;
};

/// Walks the axis from a boundary or model scenario. Throws config::ConfigErrors for a pipeline, and for a model that
/// fits in no layout.
[[nodiscard]] BreakEven break_even(const Scenario& scenario, BreakEvenAxis axis,
                                   const config::SearchPath& search_path,
                                   const PlanOptions& options = {});

}  // namespace weft::model
