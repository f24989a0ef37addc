// SPDX-License-Identifier: Apache-2.0
// Any bytes as tuning entries of FLUX: entries that are written and read back as they were, or
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/import/flux_tuning.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  model::FluxTuning read;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read = model::read_flux_tuning(text, "config.cu");
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  if (read.entries.empty()) return 0;
  const auto again = model::read_flux_tuning(model::to_flux_tuning(read.entries, {}), "again");
  if (again.entries.size() != read.entries.size()) __builtin_trap();
  for (std::size_t i = 0; i < read.entries.size(); ++i) {
    if (!model::same_entry(again.entries[i], read.entries[i])) __builtin_trap();
  }
  return 0;
}
