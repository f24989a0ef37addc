// SPDX-License-Identifier: Apache-2.0
// Any bytes as a lock: the reader returns one that survives being written, or throws ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/planner/lock.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Replayed from tests/fuzz: the scenario that a lock names is one of the shipped ones.
    model::Lock lock =
        model::read_lock(config::Document::parse(text, "../../configs/scenarios/fuzz.lock"), {});
    lock.scenario = std::filesystem::absolute(lock.scenario).lexically_normal().string();
    const std::string written = config::to_json(model::to_value(lock));
    if (!(model::read_lock(config::Document::parse(written, "again.lock"), {}) == lock))
      __builtin_trap();
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
