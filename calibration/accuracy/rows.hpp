// SPDX-License-Identifier: Apache-2.0
// The files of the tables' rows, by the function with which each adds its own.
#pragma once

#include <memory>
#include <vector>

#include "calibration/accuracy/row.hpp"

namespace weft::calibration {

using ErrorRows = std::vector<std::unique_ptr<ErrorTableRow>>;
using DecisionRows = std::vector<std::unique_ptr<DecisionTableRow>>;

void add_gemm_rows(ErrorRows& rows);              ///< gemm_rows.cpp
void add_kernel_choice(DecisionRows& rows);       ///< gemm_rows.cpp
void add_collective_rows(ErrorRows& rows);        ///< collective_rows.cpp
void add_beside_rows(ErrorRows& rows);            ///< beside_rows.cpp
void add_baseline_rows(ErrorRows& rows);          ///< baseline_rows.cpp
void add_pipeline_rows(ErrorRows& rows);          ///< pipeline_rows.cpp
void add_boundary_decisions(DecisionRows& rows);  ///< decision_rows.cpp

}  // namespace weft::calibration
