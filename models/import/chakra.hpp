// SPDX-License-Identifier: Apache-2.0
// Execution traces of Chakra, one NPU a file: protobuf (.et: a metadata message and then nodes, each
// after its length) and JSON in the spellings that its tools write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/reader/error.hpp"
#include "sim/units/time.hpp"

namespace weft::model {

enum class ChakraKind : std::uint8_t { metadata, memory, compute, send, receive, collective };

[[nodiscard]] std::string_view name_of(ChakraKind kind);

enum class ChakraCollective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  barrier
};

[[nodiscard]] std::string_view name_of(ChakraCollective op);

struct ChakraNode {
  std::uint64_t id = 0;
  std::string name;
  ChakraKind kind = ChakraKind::compute;
  std::vector<std::uint64_t> needs;  ///< nodes that it waits for
  bool on_cpu = false;
  Duration duration;              ///< as recorded; zero: follows from operations and bytes
  std::int64_t operations = 0;    ///< of a compute node
  std::int64_t tensor_bytes = 0;  ///< that a compute node or a memory node moves
  ChakraCollective collective = ChakraCollective::all_reduce;
  std::int64_t bytes = 0;          ///< of a collective, a send or a receive
  std::int64_t peer = 0;           ///< of a send or a receive
  std::int64_t tag = 0;            ///< likewise
  std::vector<bool> dimensions{};  ///< of the network that a collective goes over; empty: all
  std::string group{};             ///< of a collective
};

struct ChakraTrace {
  std::string file;
  std::string version;            ///< of the schema, where the file says
  std::vector<ChakraNode> nodes;  ///< in an order in which each comes after what it needs
  std::vector<config::ConfigError> notes;
};

/// Returns whether the first bytes look like such a file, or like what is mistaken for one.
[[nodiscard]] bool looks_like_chakra(std::string_view head);

/// Reads the file; throws config::ConfigErrors for what is none, for nodes that need each other or
/// nodes that are not there, and for kinds that cannot be run. A file that ends early is said.
[[nodiscard]] ChakraTrace read_chakra(std::string_view bytes, const std::string& name);

}  // namespace weft::model
