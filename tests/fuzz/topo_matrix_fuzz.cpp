// SPDX-License-Identifier: Apache-2.0
// Any bytes as the output of `nvidia-smi topo -m`: a survey that can be drafted, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "topologies/import/draft.hpp"
#include "topologies/import/topo_matrix.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const topology::Survey survey = topology::read_topo_matrix(text, "topo.txt");
    if (survey.gpus.empty() || survey.numa.empty()) __builtin_trap();
    if (topology::draft_machine(survey).unknown.empty()) __builtin_trap();
    if (topology::describe(survey).empty()) __builtin_trap();
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
