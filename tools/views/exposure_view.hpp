// SPDX-License-Identifier: Apache-2.0
// What a recorded trace exposed, as text and as JSON, alone and beside a prediction.
#pragma once

#include <optional>
#include <string>

#include "calibration/import/exposed.hpp"
#include "configs/reader/value.hpp"
#include "models/planner/figures.hpp"

namespace weft::tool {

/// Devices and collectives as two tables; a table's end says how many rows it leaves out.
[[nodiscard]] std::string describe(const calibration::GpuTrace& trace,
                                   const calibration::ExposureReport& report);
[[nodiscard]] config::Value to_value(const calibration::GpuTrace& trace,
                                     const calibration::ExposureReport& report);

/// A measured figure and a predicted one; times only where the trace's number of runs is known.
struct Compared {
  std::string figure;
  std::string measured;
  std::string predicted;
  std::optional<double> ratio;  ///< measured over predicted
};
/// The mean over the trace's devices beside the figures.
[[nodiscard]] std::vector<Compared> compare(const calibration::ExposureReport& report,
                                            const model::Figures& figures,
                                            std::optional<double> runs);
[[nodiscard]] std::string describe(const std::vector<Compared>& rows);
[[nodiscard]] config::Value to_value(const std::vector<Compared>& rows);

}  // namespace weft::tool
