// SPDX-License-Identifier: Apache-2.0
// The errors that a profile carries: how far each family of predictions was off on rows that its fit did not
// see, with the interval that covers 90 % of them.
#pragma once

#include <string>

#include "calibration/accuracy/evidence.hpp"
#include "models/profile/profile.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::calibration {

/// Replaces the errors of the families that leaving folds of shapes out gives; reads no held-out row. `machine` has
/// the GPUs and links that were measured.
void add_residuals(model::Profile& profile, const Evidence& evidence,
                   const topology::MachineSpec& machine, const std::string& reference);

}  // namespace weft::calibration
