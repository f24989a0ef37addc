// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace of the PyTorch profiler: figures that are consistent, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calibration/import/exposed.hpp"
#include "calibration/import/kineto.hpp"
#include "configs/reader/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const calibration::GpuTrace trace = calibration::parse_kineto(text, "trace.json");
    if (trace.activities.empty()) __builtin_trap();
    for (const auto& device : calibration::exposure_of(trace).devices) {
      if (device.hidden_ns < 0 || device.exposed_ns < 0) __builtin_trap();
      if (device.hidden_ns + device.exposed_ns != device.communication_ns) __builtin_trap();
    }
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
