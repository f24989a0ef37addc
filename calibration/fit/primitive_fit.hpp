// SPDX-License-Identifier: Apache-2.0
// Flags, launch jitter, copy-engine and SM-copy constants from the primitives suite.
//
//   flag                       one way of a ping-pong between SMs, or between GPUs
//   looks                      nine tenths of a period from the 5th to the 95th percentile of waits that come first
//   jitter                     95th percentile of how far two kernels that one event releases start apart
//   copy                       start + bytes / rate, alone, duplex and in pairs
//   n CTAs                     bytes / min(n * per CTA, cap)
#pragma once

#include <string>
#include <vector>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// What could not be fitted, and by which suite it would be.
struct Gap {
  std::string what, suite;
};

/// Sets what the samples determine and returns what they do not. `reference` names the samples.
std::vector<Gap> fit_primitives(model::Profile& profile, const std::vector<Observation>& samples,
                                const std::string& reference);

}  // namespace weft::calibration
