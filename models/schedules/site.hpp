// SPDX-License-Identifier: Apache-2.0
// Where a boundary runs: the machine built for its ranks, its routes, and the profile that prices work there.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/cost/gemm.hpp"
#include "models/profile/profile.hpp"
#include "models/schedules/gang_uses.hpp"
#include "models/schedules/prices.hpp"
#include "topologies/build.hpp"

namespace weft::model {

struct Site {
  topology::Built built;  ///< machine with the profile's costs applied, routes and trees by rank
  Profile profile;
  Fabric fabric;  ///< what collectives of all its ranks share
  CollectiveProblem
      group;  ///< ranks, nodes and crossings of the whole group; its operation is not set
  std::shared_ptr<Prices> prices;       ///< of this profile on this fabric
  std::shared_ptr<GangUseTable> gangs;  ///< of this machine
  /// Whether tiles that go in the order of their chunks are priced with the operands that they read again.
  bool prices_tile_order = true;
  /// Whose kernels compute the chunks of a product that is cut.
  GemmLibrary products = GemmLibrary::cublaslt;
  /// What paced CTAs of a rank keep to, all of them together; none: a share of its port.
  std::optional<Bandwidth> pace;

  /// Of ranks beside host memory: their routes as SMs load them, who share both directions worse than engines do.
  std::optional<sim::RouteId> sms_from_host, sms_to_host;

  /// Ranks of the group.
  [[nodiscard]] int ranks() const { return static_cast<int>(group.ranks); }
  /// Of them, the first ones run kernels; the others are memories that those read and write.
  [[nodiscard]] int running() const { return static_cast<int>(built.machine.ranks.size()); }
  [[nodiscard]] bool runs(int rank) const { return rank < running(); }
  /// Which way bytes go between two ranks, as `mover` sees it: one of them, which runs.
  [[nodiscard]] CopyPath path(int mover, int from, int to) const;
  /// The route between two ranks for bytes that CTAs move.
  [[nodiscard]] sim::RouteId route_of_ctas(int from, int to) const;
  /// The SMs of a rank, less a margin: whole SMs are taken from the last GPCs first.
  [[nodiscard]] SmBudget sms(int rank, int margin = 0) const;
};

/// Builds the machine of these ranks and gives its engines, control paths and interference the profile's costs.
[[nodiscard]] Site make_site(const topology::MachineSpec& machine, const Profile& profile,
                             const std::vector<topology::RankPlace>& places,
                             const std::vector<topology::Override>& overrides = {},
                             CostModel model = CostModel::profile);

/// A group of `ranks` of which one runs, on the device of `place`; its peers are host memory beside it, as on a
/// machine with one GPU: what they would send is there, and what is sent to them stays there.
[[nodiscard]] Site make_host_site(const topology::MachineSpec& machine, const Profile& profile,
                                  const topology::RankPlace& place, int ranks);

}  // namespace weft::model
