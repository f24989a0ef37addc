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

enum class ExportFormat : std::uint8_t { te_yaml, ub_cfgs, megatron, nemo, nccl_env, flux, vllm };

struct ExportFormatName {
  std::string_view name;
  ExportFormat format;
  std::string_view what;
};
[[nodiscard]] const std::vector<ExportFormatName>& export_formats();

/// The schedules that the system of a format can run, by name; empty: any.
[[nodiscard]] std::vector<std::string> schedules_of(ExportFormat format);

struct Exported {
  std::string text;
  std::vector<std::string> remarks;  ///< picks that the system has no word for
  bool empty = false;                ///< no pick has a word: the text sets nothing
};

/// Lines that say which plan this is: its hash, scenario, layout and predicted gain.
[[nodiscard]] std::vector<std::string> header_of(const Plan& plan);

/// Writes the plan's best layout; the plan has one. Throws config::ConfigErrors where the format needs
/// a plan of a model and this is of one boundary.
[[nodiscard]] Exported export_plan(const Plan& plan, ExportFormat format);

}  // namespace weft::model
