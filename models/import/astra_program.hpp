// SPDX-License-Identifier: Apache-2.0
// A collective of ASTRA-sim as a machine and a program of the engine: a second opinion on the same
// inputs.
//
// A message is cut into `splits` chunks, of which `active` are in flight. Each is a gang: the
// algorithm's steps times the hops' latency, then its bytes over the links, which concurrent chunks
// share. ASTRA-sim's analytical backend gives each message of a step its link for itself and adds
// the endpoint's delay and a pass over local memory, so it comes out some per cent slower.
#pragma once

#include <string>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "topologies/import/astra_network.hpp"

namespace weft::model {

struct AstraCollective {
  sim::Machine machine;
  sim::Program program;
};

/// Builds the all-reduce of a message; throws std::invalid_argument, which names what is not
/// modelled: several dimensions, or an algorithm other than ring, direct and halvingDoubling.
[[nodiscard]] AstraCollective astra_all_reduce(const topology::AstraNetwork& network,
                                               const topology::AstraSystem& system, Bytes message);

}  // namespace weft::model
