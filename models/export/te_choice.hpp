// SPDX-License-Identifier: Apache-2.0
// Transformer Engine's settings and weft's schedules, one for the other: a schedule "te.<method>" is
// a method, and a knob whose system name is a setting is that setting.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/import/tp_overlap.hpp"
#include "models/planner/evaluate.hpp"

namespace weft::model {

/// The products that a boundary is, by its name: of "fc1" fc1_fprop, of "fc1.backward" fc1_dgrad and
/// fc1_wgrad; none for what Transformer Engine does not overlap.
[[nodiscard]] std::vector<std::string> ub_products(std::string_view boundary);

/// What Transformer Engine is told so that a product runs under this schedule; nothing for schedules
/// that it does not have.
[[nodiscard]] std::optional<UbGemm> ub_gemm_of(std::string_view product,
                                               const ScheduleInfo& schedule, const Knobs& knobs);

/// The same for every product of a boundary; empty where one of them cannot be told.
[[nodiscard]] std::vector<UbGemm> ub_gemms_of(std::string_view boundary,
                                              const ScheduleInfo& schedule, const Knobs& knobs);

/// What a product's settings ask for.
struct UbChoice {
  ScheduleChoice choice;          ///< with the numbers of the settings, whether searched or not
  std::vector<std::string> idle;  ///< settings that change nothing in what is simulated
};
[[nodiscard]] UbChoice choice_of(const UbGemm& gemm);

/// A product as Transformer Engine runs it untold.
[[nodiscard]] UbGemm ub_default(std::string_view product);

}  // namespace weft::model
