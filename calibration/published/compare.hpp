// SPDX-License-Identifier: Apache-2.0
// What weft predicts for each published figure, and how far off it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/published/rows.hpp"
#include "configs/reader/search_path.hpp"

namespace weft::calibration {

enum class PublishedGroup : std::uint8_t { overlap, collective, product };

struct PublishedRow {
  PublishedGroup group = PublishedGroup::overlap;
  std::string what;       ///< system, operation, machine and shape
  std::string published;  ///< as its source gives it
  std::string predicted;
  double error = 0;          ///< predicted over published, less one
  std::optional<bool> sign;  ///< win or loss right; none: not stated, or within 5 %
  bool loss = false;         ///< it is the unfused way that was published to win
  std::string baseline;      ///< what the system's own model says; empty: it has none
  std::string assumed;
  std::string source;
  bool machine_stated = true;
};

/// Bus bandwidth of an NVLS all-reduce of 2 GiB by GPU count 4 .. 8 on 8 H100, with ring's beside it, in GB/s.
struct NvlsPoint {
  int ranks = 0;
  double published = 0, predicted = 0, ring = 0;
};

struct PublishedReport {
  std::vector<PublishedRow> rows;
  std::vector<NvlsPoint> nvls;
  int signs = 0,
      right = 0;  ///< rows whose published difference exceeds 5 %, and those with the right sign
  int losses = 0, losses_right = 0;  ///< of these, where the unfused way won
  double median_error = 0;           ///< of the magnitudes
  double median_stated = 0;          ///< of those whose machine is fully stated
};

/// Predicts every row, or those whose name contains `only`. `machines`: the folder of machine files.
[[nodiscard]] PublishedReport compare_published(const std::string& machines,
                                                const config::SearchPath& search_path,
                                                std::string_view only = {});

}  // namespace weft::calibration
