// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ASTRA-sim network: dimensions that make a machine, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "topologies/import/astra_network.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const topology::AstraNetwork network = topology::read_astra_network(text, "network.yml");
    if (network.dimensions.empty()) __builtin_trap();
    if (!topology::machine_of(network, "network.yml").is_object()) __builtin_trap();
    static_cast<void>(topology::read_astra_system(text, "system.json"));
  } catch (const config::ConfigErrors&) {
    return 0;
  }
  return 0;
}
