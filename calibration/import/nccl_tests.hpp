// SPDX-License-Identifier: Apache-2.0
// Reads logs of nccl-tests: any column layout, launchers' prefixes, several runs in a file. Rows become
// samples of library nccl; what a log lacks or gets wrong is a note. docs/formats.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/sample/sample.hpp"
#include "configs/reader/error.hpp"

namespace weft::calibration {

/// One run of the log, for a summary.
struct NcclTestsRun {
  std::string operation;  ///< all_reduce, or what else it measured
  std::uint32_t line = 0;
  int ranks = 0;
  std::string ranks_from;  ///< how the number of ranks is known
  int hosts = 0;           ///< 0: not in the log
  std::size_t rows = 0;
  std::size_t samples = 0;
  double best_busbw = 0;  ///< GB/s
};

struct NcclTestsLog {
  std::vector<NcclTestsRun> runs;
  SampleSet samples;
  std::vector<config::ConfigError> notes;
};

/// Returns whether the text looks like such a log, or like what is mistaken for one.
[[nodiscard]] bool looks_like_nccl_tests(std::string_view text);

/// Reads the log; throws config::ConfigErrors for text that is none.
[[nodiscard]] NcclTestsLog read_nccl_tests(std::string_view text, const std::string& name);

}  // namespace weft::calibration
