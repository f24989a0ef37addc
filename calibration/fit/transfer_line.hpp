// SPDX-License-Identifier: Apache-2.0
// The transfers of measured boundaries, the B_s of a schedule, as lines in what they do:
//
//   time = frame + pieces * piece + bytes / rate
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// Transfers of one kind.
struct TransferKind {
  std::string backend, operation, schedule, transport;
  std::optional<int> ctas{};  ///< none: any
};

struct TransferRow {
  double bytes = 0, pieces = 0, micros = 0;
};

/// Rows of a kind: bytes one way, pieces, and the time without the final sum.
[[nodiscard]] std::vector<TransferRow> transfer_rows(const model::Profile& profile,
                                                     const std::vector<Observation>& samples,
                                                     const TransferKind& kind);

/// In microseconds and bytes a second.
struct TransferLine {
  double frame = 0, piece = 0, rate = 0;
  double frame_error = 0, piece_error = 0, rate_error = 0;  ///< fractions
  std::size_t rows = 0;

  /// Where a constant of the line is from.
  [[nodiscard]] model::Source source(const std::string& what, double error) const;
};

/// The line through rows; none where they are too few or too alike.
[[nodiscard]] std::optional<TransferLine> fit_transfers(const std::vector<TransferRow>& rows);

}  // namespace weft::calibration
