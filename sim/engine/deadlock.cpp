// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

std::string Simulation::describe_deadlock() const {
  return "deadlock";
}

}  // namespace weft::sim::engine
