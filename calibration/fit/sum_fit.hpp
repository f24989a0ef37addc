// SPDX-License-Identifier: Apache-2.0
// Fits the sums of CTAs that share a product's launch, of bytes read and written: a partial of every rank, and the sum.
//
//   D - A_s = tail  + bytes / min(CTAs * per_cta, cap)       of reductions in one piece, which add after their product
//   B_s     = frame + pieces * start + bytes / CTAs / rate   where their launch is alone and finds every flag set
//
// The rates are those beside the product's own stores, by the first; the start of a piece is by the second, whose rows
// whose partials take longer to come than to be added are left out.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with these sums fitted anew; what the samples do not determine is kept.
[[nodiscard]] model::Profile fit_sums(model::Profile profile,
                                      const std::vector<Observation>& samples);

}  // namespace weft::calibration
