// SPDX-License-Identifier: Apache-2.0
// A product beside traffic: how much slower is each, by which became resident first.
#pragma once

#include "calibration/sample/sample.hpp"
#include "kernels/measure/multiplier.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Times of the product, and the traffic's rate in each repetition.
struct BesideTimes {
  Times product;
  std::vector<std::int64_t> background_bytes_per_second;
};

/// Measures `product` beside the traffic of `what.background` on a stage of the host link.
BesideTimes run_beside(Stage& stage, const calibration::Background& background,
                       const Multiplier& product, std::int64_t expected_ns, int warm_up,
                       int repetitions);

}  // namespace weft::kernels
