// SPDX-License-Identifier: Apache-2.0
// Fits the constants of the GEMM and attention models to published tables (models/cost/gemm.hpp, roofline.hpp).
//
// Each evaluation chooses the library's kernel anew, so the constants must explain the choice as well as the
// time. Half of the shapes are held out by hash (split.hpp). The tables' clocks were not locked, so a row may be
// off by 10 % for no reason that a model could know: the loss is robust, and the error is reported as it is.
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/least_squares.hpp"
#include "calibration/import/published_table.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"

namespace weft::calibration {

struct GemmFit {
  model::GemmConstants constants;
  std::vector<FitParameter> parameters;
  LeastSquaresResult result;
  std::size_t rows = 0;
};

/// The profile gives the device and the library's tiles; its constants are where the search starts.
[[nodiscard]] GemmFit fit_gemm(const model::Profile& profile,
                               const std::vector<GemmSample>& samples, const std::string& table);

/// Error over held-out shapes.
[[nodiscard]] model::FamilyError gemm_error(const model::Profile& profile,
                                            const std::vector<GemmSample>& samples,
                                            const std::string& table);

struct AttentionFit {
  std::vector<model::AttentionConstants> constants;  ///< one a head dimension of the table
  std::size_t rows = 0;
};

[[nodiscard]] AttentionFit fit_attention(const model::Profile& profile,
                                         const std::vector<AttentionSample>& samples,
                                         const std::string& table);

/// Error over held-out shapes.
[[nodiscard]] model::FamilyError attention_error(const model::Profile& profile,
                                                 const std::vector<AttentionSample>& samples,
                                                 const std::string& table);

}  // namespace weft::calibration
