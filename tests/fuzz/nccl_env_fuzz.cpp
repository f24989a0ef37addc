// SPDX-License-Identifier: Apache-2.0
// Any bytes as settings of NCCL: settings that are written and read back as they were, or
// ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "models/import/nccl_env.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  model::NcclEnvironment read;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    static_cast<void>(model::looks_like_nccl_environment(text));
    read = model::read_nccl_environment(text, "nccl.sh");
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  const auto again =
      model::read_nccl_environment(model::to_nccl_environment(read.settings, {}), "again");
  if (again.settings.size() != read.settings.size()) __builtin_trap();
  for (std::size_t i = 0; i < read.settings.size(); ++i) {
    const model::NcclSetting &a = again.settings[i], &b = read.settings[i];
    if (a.name != b.name) __builtin_trap();
    if (a.value != b.value) __builtin_trap();
  }
  return 0;
}
