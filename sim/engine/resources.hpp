// SPDX-License-Identifier: Apache-2.0
// Which shared resources does work charge, and what do unshared ones allow?
//
// A byte over a route charges each source and target memory once and each link and switch its
// share. A resource that an effect takes out of sharing becomes a cap, x <= C_j / a_ij, of every
// activity that uses it. A memory, L2 or switch without a bandwidth is not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/compiled.hpp"

namespace weft::sim::engine {

/// Fills Compiled::resources: memories, L2s, links, switches, in this order.
void list_resources(const Machine& machine, const Effects& effects, Compiled& compiled);

/// Collects amounts over one denominator, then appends them to Compiled::uses.
class UseCollector {
 public:
  UseCollector(const Machine& machine, const Effects& effects, Compiled& compiled)
      : machine_(machine), effects_(effects), compiled_(compiled) {}

  void clear(std::uint64_t denominator);
  /// Charges `amount / denominator` of a resource per unit of progress.
  void charge(std::uint32_t resource, std::uint64_t amount);
  void memory(MemoryId memory, std::uint64_t amount);
  void link(std::uint32_t link, std::uint64_t amount);
  void fabric_switch(std::uint32_t fabric_switch, std::uint64_t amount);
  /// Charges a whole route with `bytes` bytes (over its own denominator, which must divide ours).
  void route(const Route& route, std::uint64_t bytes);
  /// Lowers the cap to `rate` units of progress a second.
  void limit(const ProgressRate& rate);
  /// Appends what was collected; of a folded gang what so many members use together.
  UseList finish(std::uint64_t members_folded = 1);

 private:
  [[nodiscard]] const Orbit* orbit_of(std::uint32_t resource) const;
  void fold(std::uint64_t parts);

  const Machine& machine_;
  const Effects& effects_;
  Compiled& compiled_;
  UseList list_;
};

}  // namespace weft::sim::engine
