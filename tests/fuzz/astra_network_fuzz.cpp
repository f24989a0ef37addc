// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ASTRA-sim network and as a system layer: dimensions that make a machine unless they
// are too many groups, or ConfigErrors.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "configs/reader/error.hpp"
#include "topologies/import/astra_network.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const topology::AstraNetwork network = topology::read_astra_network(text, "network.yml");
    if (network.dimensions.empty()) __builtin_trap();
    if (!topology::machine_of(network, "network.yml").is_object()) __builtin_trap();
  } catch (const config::ConfigErrors&) {
  } catch (const std::invalid_argument&) {
  }
  try {
    static_cast<void>(topology::read_astra_system(text, "system.json"));
  } catch (const config::ConfigErrors&) {
  }
  return 0;
}
