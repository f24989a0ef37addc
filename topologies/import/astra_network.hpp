// SPDX-License-Identifier: Apache-2.0
// Reads the inputs of ASTRA-sim's analytical backend: the network (YAML) and the system layer
// (JSON). Its GB is 2^30 bytes and its ns is its own; docs/formats.md says what is read.
#pragma once

#include <cstdint>
#include <optional>
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
  std::int64_t splits = 1;         ///< preferred-dataset-splits
  std::int64_t active_chunks = 1;  ///< active-chunks-per-dimension
  /// Algorithm of each dimension; empty: ring.
  std::vector<std::string> all_reduce, all_gather, reduce_scatter, all_to_all;
  std::optional<double> peak;    ///< operations a second of an NPU, for nodes without a duration
  std::optional<double> memory;  ///< bytes a second of its memory, likewise
  std::vector<config::ConfigError> notes;
};

[[nodiscard]] bool looks_like_astra_network(std::string_view text);
[[nodiscard]] bool looks_like_astra_system(std::string_view text);
[[nodiscard]] AstraNetwork read_astra_network(std::string_view text, const std::string& name);
[[nodiscard]] AstraSystem read_astra_system(std::string_view text, const std::string& name);

/// Returns a machine file of the network, null where ASTRA-sim has no such number: NPUs that differ in
/// one dimension only are joined by that dimension's links. Throws std::invalid_argument for more
/// groups of NPUs than a file should list.
[[nodiscard]] config::Value machine_of(const AstraNetwork& network, const std::string& name);

}  // namespace weft::topology
