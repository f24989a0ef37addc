// SPDX-License-Identifier: Apache-2.0
// The workload that weft and its twin are timed on: actors that alternate a computation on a device
// of their own and a transfer over a directed link of their own, all links through one switch.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/machine.hpp"
#include "sim/program.hpp"
#include "sim/units/bytes.hpp"
#include "sim/units/rates.hpp"
#include "sim/units/time.hpp"

namespace weft::bench {

/// What every actor does, drawn from a seed.
struct Actors {
  struct Round {
    Duration computation;
    Bytes transfer;
  };
  std::uint64_t seed = 0;
  Bandwidth link;
  Bandwidth core;                          ///< of the switch: 80 % of the links' sum
  std::vector<std::vector<Round>> rounds;  ///< by actor

  /// Returns the computations and transfers of all actors.
  [[nodiscard]] std::uint64_t activities() const;
};

/// The seed of both twins.
inline constexpr std::uint64_t kActorsSeed = 20'000;

/// Draws computations of 50 to 150 us and transfers that take as long on a link alone.
Actors draw_actors(std::uint64_t seed, std::uint32_t actors, std::uint32_t rounds);

/// The machine: a device, a memory and a link an actor; control paths and hosts take no time.
sim::Machine machine_of(const Actors& actors);

/// The program: a host thread and a stream an actor, kernels of one tile and copies in turn.
sim::Program program_of(const Actors& actors);

}  // namespace weft::bench
