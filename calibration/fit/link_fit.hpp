// SPDX-License-Identifier: Apache-2.0
// Fits what moves bytes between a device and pinned host memory to the transfers of measured boundaries: the B_s of
// every schedule, which is linear in what it does,
//
//   time = frame + pieces * piece + bytes / rate
//
// by copy engine and by CTAs, one way (a gather) and both ways at once (a reduction, whose final sum over slots is
// taken off by the profile's memory constants). These are rates through buffers that were not touched just before; a
// copy that is repeated over the same few megabytes is up to 6 % faster.
#pragma once

#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// The profile with its host paths fitted anew: copy engines, copies by SMs, and a stream's write of a flag and wait for
/// one. The frame is the measurement's (predict/frame.hpp). What the samples do not determine is kept.
[[nodiscard]] model::Profile fit_host_link(model::Profile profile,
                                           const std::vector<Observation>& samples);

}  // namespace weft::calibration
