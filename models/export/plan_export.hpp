// SPDX-License-Identifier: Apache-2.0
// A plan in the words of the systems that run it. What a system has no word for is a remark, and is
// left at that system's own default.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/import/tp_overlap.hpp"
#include "models/planner/plan.hpp"

namespace weft::model {

enum class ExportFormat : std::uint8_t { te_yaml, ub_cfgs, megatron, nemo, nccl_env };

struct ExportFormatName {
  std::string_view name;
  ExportFormat format;
  std::string_view what;
};
[[nodiscard]] const std::vector<ExportFormatName>& export_formats();

struct Exported {
  std::string text;
  std::vector<std::string> remarks;  ///< picks that the system has no word for
};

/// What Transformer Engine is told so that a product runs under this schedule; nothing for schedules
/// that it does not have. Settings are the knobs whose system name is one of its settings.
[[nodiscard]] std::optional<UbGemm> ub_gemm_of(std::string_view product,
                                               const ScheduleInfo& schedule, const Knobs& knobs);

/// Lines that say which plan this is: its hash, scenario, layout and predicted gain.
[[nodiscard]] std::vector<std::string> header_of(const Plan& plan);

/// Writes the plan's best layout; the plan has one.
[[nodiscard]] Exported export_plan(const Plan& plan, ExportFormat format);

}  // namespace weft::model
