// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log of nccl-tests: samples that can be written and read back, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "calibration/import/nccl_tests.hpp"
#include "calibration/sample/sample_json.hpp"
#include "configs/reader/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  calibration::NcclTestsLog log;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    log = calibration::read_nccl_tests(text, "log.txt");
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  if (log.runs.empty()) __builtin_trap();
  std::string lines;
  for (const calibration::Run& run : log.samples.runs) lines += to_line(run) + "\n";
  for (calibration::Sample& sample : log.samples.samples) lines += to_line(sample) + "\n";
  calibration::SampleSet again;
  calibration::read_lines(lines, "again", again);
  if (again.samples.size() != log.samples.samples.size()) __builtin_trap();
  return 0;
}
