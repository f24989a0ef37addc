// SPDX-License-Identifier: Apache-2.0
// The lines of a nccl-tests log as runs with rows, before anything is made of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "configs/reader/foreign_text.hpp"

namespace weft::calibration {

/// Time and bandwidths of a row, out of place or in place.
struct NcclFigures {
  double us = 0;
  double algbw = 0;
  double busbw = 0;
  bool wrong = false;
};

struct NcclRow {
  std::uint32_t line = 0;
  std::int64_t bytes = 0;
  std::string dtype;
  std::string redop;
  std::optional<NcclFigures> out_of_place, in_place;
};

struct NcclRawRun {
  std::uint32_t line = 0;
  std::string operation;  ///< empty: not said
  std::string version, library;
  std::map<std::int64_t, std::pair<std::string, std::string>> ranks;  ///< host, device id
  std::string device;
  bool elided = false;  ///< "..." among the rank lines
  std::optional<std::int64_t> nranks;
  std::vector<NcclRow> rows;
  std::optional<double> average;
  std::vector<std::pair<std::uint32_t, std::string>> failures;
};

/// Returns the collective of a program's name in the text: "all_reduce" for "./all_reduce_perf -b 8".
[[nodiscard]] std::string collective_in(std::string_view text);

/// Returns the runs of a log in their order; notes go to `findings`.
[[nodiscard]] std::vector<NcclRawRun> read_nccl_runs(std::string_view text,
                                                     config::Findings& findings);

}  // namespace weft::calibration
