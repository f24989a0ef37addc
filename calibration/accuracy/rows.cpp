// SPDX-License-Identifier: Apache-2.0
// The list of the tables' rows: a new row is a file of its own and a line here.
#include "calibration/accuracy/rows.hpp"

namespace weft::calibration {

std::vector<std::unique_ptr<ErrorTableRow>> error_rows() {
  std::vector<std::unique_ptr<ErrorTableRow>> rows;
  add_gemm_rows(rows);
  add_collective_rows(rows);
  add_pipeline_rows(rows);
  add_beside_rows(rows);
  add_baseline_rows(rows);
  return rows;
}

std::vector<std::unique_ptr<DecisionTableRow>> decision_rows() {
  std::vector<std::unique_ptr<DecisionTableRow>> rows;
  add_boundary_decisions(rows);
  add_kernel_choice(rows);
  return rows;
}

}  // namespace weft::calibration
