// SPDX-License-Identifier: Apache-2.0
// Where a boundary runs: the machine built for its ranks, its routes, and the profile that prices work there.
#pragma once

#include <memory>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"
#include "models/schedules/prices.hpp"
#include "topologies/build.hpp"

namespace weft::model {

struct Site {
  topology::Built built;  ///< machine with the profile's costs applied, routes and trees by rank
  Profile profile;
  Fabric fabric;  ///< what collectives of all its ranks share
  CollectiveProblem
      group;  ///< ranks, nodes and crossings of the whole group; its operation is not set
  std::shared_ptr<Prices> prices;  ///< of this profile on this fabric

  /// Ranks of the group.
  [[nodiscard]] int ranks() const { return static_cast<int>(built.machine.ranks.size()); }
  /// The SMs of a rank, less a margin: whole SMs are taken from the last GPCs first.
  [[nodiscard]] SmBudget sms(int rank, int margin = 0) const;
};

/// Builds the machine of these ranks and gives its engines, control paths and interference the profile's costs.
[[nodiscard]] Site make_site(const topology::MachineSpec& machine, const Profile& profile,
                             const std::vector<topology::RankPlace>& places,
                             const std::vector<topology::Override>& overrides = {});

}  // namespace weft::model
