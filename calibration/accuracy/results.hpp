// SPDX-License-Identifier: Apache-2.0
// Reports as JSON (weft.accuracy/1), and the committed record of final ones: calibration/results/final.json is
// the last, calibration/results/log.jsonl has a line for each that was ever made.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/accuracy/report.hpp"
#include "configs/reader/value.hpp"

namespace weft::calibration {

/// Both tables as JSON, errors as fractions; no single points.
[[nodiscard]] config::Value to_value(const Report& report);

/// When and from what a final report was made.
struct Occasion {
  std::string date;    ///< UTC, ISO 8601
  std::string commit;  ///< with -dirty where the tree was
};

/// Writes final.json in the folder and appends a line to its log.jsonl, which appears whole.
void record_final(const std::filesystem::path& folder, const Report& report,
                  const Occasion& occasion);

/// A recorded final report: the tables as they were, and how often the log says that one was made.
struct FinalRecord {
  Report report;  ///< without points
  std::string date, commit;
  int runs = 0;
};

/// Reads final.json and log.jsonl of a folder; throws config::ConfigErrors with what is wrong in them.
[[nodiscard]] FinalRecord load_final(const std::filesystem::path& folder);

/// The tables of a recorded report as Markdown, with how often a final report was made.
[[nodiscard]] std::string markdown(const FinalRecord& record);

}  // namespace weft::calibration
