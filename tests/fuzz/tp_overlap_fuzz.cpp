// SPDX-License-Identifier: Apache-2.0
// Any bytes as overlap settings: settings that are written and read back as they were, or
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/export/tp_overlap_export.hpp"
#include "models/import/tp_overlap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  model::TpOverlap overlap;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    overlap = model::read_tp_overlap(text, "tp.yaml");
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  const auto again = model::read_tp_overlap(model::to_tp_overlap_yaml(overlap.gemms, {}), "again");
  if (again.gemms.size() != overlap.gemms.size()) __builtin_trap();
  for (std::size_t i = 0; i < again.gemms.size(); ++i) {
    if (!model::same_settings(again.gemms[i], overlap.gemms[i])) __builtin_trap();
  }
  return 0;
}
