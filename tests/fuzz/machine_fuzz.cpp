// SPDX-License-Identifier: Apache-2.0
// Any bytes as a machine: the reader returns one that can be built for two ranks or says why it cannot, or throws
// ConfigErrors.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "configs/reader/error.hpp"
#include "topologies/build.hpp"
#include "topologies/read_machine.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  try {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    // Replayed from tests/fuzz: the device that a machine names is one of the shipped ones.
    const topology::MachineSpec spec =
        topology::read_machine(config::Document::parse(text, "../../configs/machines/fuzz.json"))
            .spec;
    const std::int64_t ranks = std::min<std::int64_t>(2, topology::total_devices(spec));
    if (ranks < 1) __builtin_trap();
    const topology::Built built = topology::build(spec, topology::packed_places(spec, ranks));
    if (built.machine.ranks.size() != static_cast<std::size_t>(ranks)) __builtin_trap();
  } catch (const config::ConfigErrors&) {
    return 0;
  } catch (const topology::BuildError&) {
    return 0;
  }
  return 0;
}
