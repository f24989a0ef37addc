// SPDX-License-Identifier: Apache-2.0
// The committed comparison with published figures, as a document that the program writes and a test regenerates.
#pragma once

#include <string>

#include "calibration/published/compare.hpp"

namespace weft::calibration {

/// The report as Markdown: every predicted row, the rows that are not, and the contradictions.
[[nodiscard]] std::string to_markdown(const PublishedReport& report);

/// "19 of 20 rows ...": the two figures that the comparison is judged by.
[[nodiscard]] std::string headline(const PublishedReport& report);

}  // namespace weft::calibration
