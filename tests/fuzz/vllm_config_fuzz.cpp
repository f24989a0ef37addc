// SPDX-License-Identifier: Apache-2.0
// Any bytes as settings of vLLM: settings that are written and read back as they were, or
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/import/vllm_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  model::VllmOverlap read;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    read = model::read_vllm_config(text, "config.yaml");
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  if (!model::same_settings(model::read_vllm_config(model::to_vllm_config(read, {}), "again"),
                            read))
    __builtin_trap();
  return 0;
}
