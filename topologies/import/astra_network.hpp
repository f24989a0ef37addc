// SPDX-License-Identifier: Apache-2.0
// Reads the inputs of ASTRA-sim's analytical backend: the network (YAML) and the system layer
// (JSON). Its GB is 2^30 bytes and its ns is its own; docs/formats.md says what is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"
#include "configs/reader/value.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::topology {

enum class AstraShape : std::uint8_t { ring, fully_connected, fabric_switch };

struct AstraDimension {
  AstraShape shape = AstraShape::fabric_switch;
  std::int64_t npus = 0;
  Bandwidth bandwidth_per_direction;  ///< of a link
  Duration latency;                   ///< of a link; a switch is two of them away
};

struct AstraNetwork {
  std::vector<AstraDimension> dimensions;
  std::vector<config::ConfigError> notes;
};

/// How collectives are cut and scheduled.
struct AstraSystem {
  std::int64_t splits = 1;              ///< preferred-dataset-splits
  std::int64_t active_chunks = 1;       ///< active-chunks-per-dimension
  std::vector<std::string> all_reduce;  ///< algorithm of each dimension
  std::vector<config::ConfigError> notes;
};

[[nodiscard]] bool looks_like_astra_network(std::string_view text);
[[nodiscard]] AstraNetwork read_astra_network(std::string_view text, const std::string& name);
[[nodiscard]] AstraSystem read_astra_system(std::string_view text, const std::string& name);

/// Returns a machine file of a network of one dimension, null where ASTRA-sim has no such number.
[[nodiscard]] config::Value machine_of(const AstraNetwork& network, const std::string& name);

}  // namespace weft::topology
