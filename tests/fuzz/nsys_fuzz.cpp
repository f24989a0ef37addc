// SPDX-License-Identifier: Apache-2.0
// Any bytes as an export of Nsight Systems, database or table: figures, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "calibration/import/exposed.hpp"
#include "calibration/import/nsys.hpp"
#include "configs/reader/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const calibration::GpuTrace trace = calibration::looks_like_sqlite(text)
                                            ? calibration::parse_nsys_sqlite(text, "report.sqlite")
                                            : calibration::parse_nsys_csv(text, "report.csv");
    for (const auto& device : calibration::exposure_of(trace).devices) {
      if (device.hidden_ns + device.exposed_ns != device.communication_ns) __builtin_trap();
    }
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
