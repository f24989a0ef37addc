// SPDX-License-Identifier: Apache-2.0
// Fits what traffic over the host link costs a product beside it, beyond the SMs that it holds.
//
// A regime's slow-down by so many CTAs is the median over products of (beside the traffic) / (beside as many CTAs that
// only spin, which became resident alike), less what late CTAs take of both: what residency costs divides out. Of writes to
// the host it is that of the loads' latency. Regimes are named in calibration/predict/beside.hpp; those of a full link are
// marked for the engine, which knows when a link is full.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with the terms that the samples determine; others are kept.
[[nodiscard]] model::Profile fit_interference(model::Profile profile,
                                              const std::vector<Observation>& samples);

}  // namespace weft::calibration
