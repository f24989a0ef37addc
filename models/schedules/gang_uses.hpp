// SPDX-License-Identifier: Apache-2.0
// What a collective's ranks load, per byte of its message: memories, and the links and switches of their routes.
//
// A rank's bytes inside its node go to its neighbour in a ring, else evenly to its peers there; bytes that leave
// the node go evenly to the ranks of the same place in the other nodes. On one switch both load one port alike.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cost/collective.hpp"
#include "sim/program.hpp"
#include "topologies/build.hpp"

namespace weft::model {

/// Numerators over a common denominator.
struct GangUses {
  std::int64_t denominator = 1;
  std::vector<std::vector<sim::GangUse>> of_rank;
};

/// The uses of one machine's collectives, found once for each kind. May be shared by threads.
class GangUseTable {
 public:
  GangUseTable();
  ~GangUseTable();
  /// The uses of this cost on `built`, which is the same at every call; they live as long as the table.
  [[nodiscard]] const GangUses& of(const CollectiveCost& cost, const topology::Built& built);

 private:
  struct Entries;
  std::unique_ptr<Entries> entries_;
};

}  // namespace weft::model
