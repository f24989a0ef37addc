// SPDX-License-Identifier: Apache-2.0
// A product beside traffic: how much slower is each, by which became resident first.
#pragma once

#include "calibration/sample/sample.hpp"
#include "kernels/measure/multiplier.hpp"
#include "kernels/measure/stage.hpp"

namespace weft::kernels {

/// Memory that traffic goes through, taken from a stage once for all traffic of a job.
struct TrafficBuffers {
  explicit TrafficBuffers(Stage& stage);

  Region shared_source;
  Region shared_target;
  const std::byte* host_source = nullptr;  ///< the next rank's: a host's, or another GPU's
  std::byte* host_target = nullptr;
  const std::byte* device_source = nullptr;
  const std::byte* device_second = nullptr;
  std::byte* device_target = nullptr;
  std::byte* records = nullptr;
  Signal* stop = nullptr;
  Signal* resident = nullptr;
  Signal started = 0;  ///< CTAs that were launched so far
};

/// Times of the product, and the traffic's rate in each repetition.
struct BesideTimes {
  Times product;
  std::vector<std::int64_t> background_bytes_per_second;
};

/// Measures `product` beside the traffic of `background`, both of the first rank of this process. After each repetition
/// the device is idle for `rest` times as long: its clock is then the product's own.
BesideTimes run_beside(Stage& stage, TrafficBuffers& buffers,
                       const calibration::Background& background, const Multiplier& product,
                       std::int64_t expected_ns, int warm_up, int repetitions, int rest);

/// The part of a rank without the product in traffic between ranks of several processes: as many rounds.
void take_part(Stage& stage, TrafficBuffers& buffers, const calibration::Background& background,
               std::int64_t expected_ns, int warm_up, int repetitions);

}  // namespace weft::kernels
