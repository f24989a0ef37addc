// SPDX-License-Identifier: Apache-2.0
// Fits what moves bytes between peer GPUs to the transfers of measured boundaries. All ranks send and receive at once,
// so that these are rates and starts of both directions loaded, pull and push apart: a copy engine that pulls waits for
// each copy's first bytes, one that pushes does not.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with copies between peers fitted anew, by engine and by CTAs. What the samples do not determine is kept.
[[nodiscard]] model::Profile fit_peer_links(model::Profile profile,
                                            const std::vector<Observation>& samples);

}  // namespace weft::calibration
