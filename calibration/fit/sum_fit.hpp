// SPDX-License-Identifier: Apache-2.0
// Fits the sums of CTAs that share a product's launch to the B_s of its reductions, where their launch is alone and
// finds every flag set:
//
//   time = frame + pieces * start + max(bytes / (CTAs * per_cta), bytes / cap)
//
// of bytes read and written: a partial of every rank, and the sum. Rows whose partials take longer to come than to be
// added are left out.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with these sums fitted anew; what the samples do not determine is kept.
[[nodiscard]] model::Profile fit_sums(model::Profile profile,
                                      const std::vector<Observation>& samples);

}  // namespace weft::calibration
