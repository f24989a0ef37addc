// SPDX-License-Identifier: Apache-2.0
// How much communication a recorded trace exposed: by union of intervals on each device. The time of
// communication is the union of its kernels; hidden is its intersection with the union of the
// compute kernels; exposed is the rest. Sums over kernels, which count concurrent ones twice, are
// never used. Exposed time in which k operations run is split evenly among them, so the parts sum to
// the whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibration/import/gpu_trace.hpp"

namespace weft::calibration {

/// Figures of one device, in nanoseconds.
struct DeviceExposure {
  std::int32_t device = 0;
  std::string name;
  std::int64_t span_ns = 0;     ///< from the first activity to the end of the last
  std::int64_t compute_ns = 0;  ///< union of compute kernels
  std::int64_t communication_ns = 0;
  std::int64_t hidden_ns = 0;
  std::int64_t exposed_ns = 0;
  std::int64_t idle_ns = 0;               ///< neither computes nor communicates
  std::int64_t communication_sum_ns = 0;  ///< what adding up kernels would give
};

/// One kind of collective over all devices.
struct CollectiveExposure {
  Operation what;
  std::int64_t calls = 0;
  std::int64_t median_ns = 0;
  std::int64_t total_ns = 0;    ///< sum over its kernels
  std::int64_t exposed_ns = 0;  ///< its part of the exposed time
};

struct ExposureReport {
  std::vector<DeviceExposure> devices;          ///< by number
  std::vector<CollectiveExposure> collectives;  ///< most exposed first
};

[[nodiscard]] ExposureReport exposure_of(const GpuTrace& trace);

}  // namespace weft::calibration
