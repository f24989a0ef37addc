// SPDX-License-Identifier: Apache-2.0
// Inputs of ASTRA-sim as a machine and a program of the engine: a second opinion on the same files.
//
// ASTRA-sim's analytical backend gives each message of a step its link for itself and adds the
// endpoint's delay and a pass over local memory, so it comes out some per cent slower.
#pragma once

#include <string>
#include <vector>

#include "models/import/chakra.hpp"
#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "topologies/import/astra_network.hpp"

namespace weft::model {

struct AstraCollective {
  sim::Machine machine;
  sim::Program program;
};

/// Builds one collective over all NPUs; throws std::invalid_argument, which names what is not
/// modelled: an algorithm other than ring, direct and halvingDoubling, or a network that is too large.
[[nodiscard]] AstraCollective astra_collective(const topology::AstraNetwork& network,
                                               const topology::AstraSystem& system,
                                               ChakraCollective op, Bytes bytes);

struct AstraTrace {
  sim::Machine machine;
  sim::Program program;
  Duration compute;                ///< of NPU 0's compute nodes, one after another
  std::vector<std::string> notes;  ///< what was taken for granted
};

/// Builds a trace for each NPU, or one that all of them run. Compute nodes follow each other by id, so
/// do those of the host and the collectives of a group. Throws std::invalid_argument, which names what
/// is not modelled, and traces that do not go together.
[[nodiscard]] AstraTrace astra_trace(const topology::AstraNetwork& network,
                                     const topology::AstraSystem& system,
                                     const std::vector<ChakraTrace>& traces);

}  // namespace weft::model
