// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scenario: the reader returns one of three kinds with figures in their ranges, or throws ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "models/planner/read_scenario.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Replayed from tests/fuzz: files that a scenario names are those of the shipped ones.
    const model::Scenario scenario =
        model::read_scenario(config::Document::parse(text, "../../configs/scenarios/fuzz.json"));
    if (const auto* pipeline = std::get_if<model::PipelineScenario>(&scenario.what)) {
      if (pipeline->chunks < 1 || pipeline->compute < Duration()) __builtin_trap();
    }
    if (const auto* boundary = std::get_if<model::BoundaryScenario>(&scenario.what)) {
      if (boundary->ranks < 1 || boundary->global.m < 1 || boundary->machine.empty())
        __builtin_trap();
    }
    if (const auto* whole = std::get_if<model::ModelScenario>(&scenario.what)) {
      if (whole->ranks < 1 || whole->work.sequences < 1 || whole->model.empty()) __builtin_trap();
    }
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
