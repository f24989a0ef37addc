// SPDX-License-Identifier: Apache-2.0
// A network of ASTRA-sim as ports of NPUs, one pair a dimension, and what moves over them: collectives
// cut into chunks that go dimension by dimension, and messages.
//
// A chunk's phase in a dimension is a gang of the NPUs that differ in it only: the algorithm's steps
// times the hops' latency, then its bytes over the ports. An all-reduce scatters up the dimensions,
// all-reduces in the last and gathers back down; a chunk shrinks by each dimension that it has been
// scattered over. At most `active` chunks are in a phase of a dimension at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/import/chakra.hpp"
#include "sim/machine.hpp"
#include "sim/program_builder.hpp"
#include "topologies/import/astra_network.hpp"

namespace weft::model {

class AstraFabric {
 public:
  /// Throws std::invalid_argument for a network that is too large to be run. Both outlive the fabric.
  AstraFabric(const topology::AstraNetwork& network, const topology::AstraSystem& system);

  [[nodiscard]] std::int64_t npus() const { return npus_; }
  [[nodiscard]] sim::ProgramBuilder& builder() { return builder_; }
  [[nodiscard]] sim::CallWriter& calls() { return calls_; }

  /// Plans a collective over the dimensions that are set (empty: all) and returns its number; throws
  /// std::invalid_argument, which names an algorithm or shape that is not modelled.
  std::size_t plan(ChakraCollective op, Bytes bytes, const std::vector<bool>& dimensions);
  /// Plans a message from one NPU to another, which meet for it.
  std::size_t plan_message(std::int64_t from, std::int64_t to, Bytes bytes);

  /// Launches an NPU's part of what was planned, after these events; returns the events of its end.
  [[nodiscard]] std::vector<sim::EventId> launch(std::size_t planned, std::int64_t npu,
                                                 const std::vector<sim::EventId>& after);

  /// The machine, with slots for all that may be resident at a time, and the program so far.
  [[nodiscard]] sim::Machine machine() const;
  [[nodiscard]] sim::Program program() { return builder_.finish(); }

 private:
  struct Phase {
    std::size_t dimension = 0;
    bool back = false;
    std::vector<sim::GangId> gangs;     ///< of an NPU's group
    std::vector<std::uint32_t> member;  ///< an NPU's place in it
  };
  struct Planned {
    std::vector<std::vector<Phase>> chunks;  ///< phases in order
    bool message = false;
  };

  [[nodiscard]] std::int64_t coordinate(std::int64_t npu, std::size_t dimension) const;
  [[nodiscard]] sim::LinkId port(std::int64_t npu, std::size_t dimension, bool out) const;
  sim::StreamId lane(std::int64_t npu, std::size_t dimension, bool back, std::size_t index);
  Phase phase(ChakraCollective op, std::size_t dimension, Bytes bytes, bool back);
  void count(std::int64_t calls);

  const topology::AstraNetwork& network_;
  const topology::AstraSystem& system_;
  std::int64_t npus_ = 1;
  std::vector<std::int64_t> strides_;
  std::int64_t active_ = 1;
  std::int64_t counted_ = 0;
  sim::ProgramBuilder builder_;
  sim::CallWriter calls_;
  std::vector<std::optional<sim::StreamId>> lanes_;
  std::vector<Planned> planned_;
};

}  // namespace weft::model
