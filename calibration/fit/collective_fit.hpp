// SPDX-License-Identifier: Apache-2.0
// Fits the constants of a collective library (models/cost/collective.hpp) to a published table.
//
// One latency and one rate a protocol serve all ring operations; the local copy is the operation's own, and so is what
// a gather's hops and its start take more. The residual is the log of the library's modelled choice over the measured
// time, through the very functions that price a plan. Only power-of-four messages are used (split.hpp).
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/least_squares.hpp"
#include "calibration/import/published_table.hpp"
#include "models/cost/collective.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

/// What the fabric can do, as far as it decides which constants there are.
struct CollectiveForm {
  bool switch_reduces = false;  ///< NVLS serves all-reduce from three ranks on
  bool host_bridge = false;     ///< more than a pair of ranks share what the host passes on (PCIe)
};

/// The form of the constants that a profile has.
[[nodiscard]] CollectiveForm collective_form(const model::Profile& profile);

struct CollectiveFit {
  std::vector<model::ProtocolCosts> collectives;
  std::vector<FitParameter> parameters;
  LeastSquaresResult result;
  std::size_t rows = 0;                 ///< that were fitted
  std::vector<CollectiveSample> noisy;  ///< left out
};

/// `table` names the samples in the constants' sources. The profile gives the link's rate.
[[nodiscard]] CollectiveFit fit_collectives(const model::Profile& profile,
                                            const std::vector<CollectiveSample>& samples,
                                            const CollectiveForm& form, const std::string& table);

/// The rows that may be fitted and took a quarter longer than one of more bytes.
[[nodiscard]] std::vector<CollectiveSample> noisy_rows(
    const std::vector<CollectiveSample>& samples);

/// ", left out for fewer bytes that took longer: ..."; nothing of none.
[[nodiscard]] std::string left_out(const std::vector<CollectiveSample>& noisy);

/// Errors of the library's modelled time over held-out rows (or over all rows), in three bands of message size:
/// below 16 KiB, 16 KiB to below 1 MiB, 1 MiB and above.
[[nodiscard]] std::vector<model::FamilyError> collective_errors(
    const model::Profile& profile, const std::vector<CollectiveSample>& samples, bool all_rows,
    const std::string& table);

}  // namespace weft::calibration
