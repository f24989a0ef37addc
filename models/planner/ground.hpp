// SPDX-License-Identifier: Apache-2.0
// What a scenario stands on: its machine and the profile that prices work there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "configs/reader/search_path.hpp"
#include "configs/reader/spot.hpp"
#include "models/planner/figures.hpp"
#include "models/planner/scenario.hpp"
#include "models/profile/profile.hpp"
#include "models/workloads/boundary.hpp"
#include "topologies/build.hpp"
#include "topologies/machine_spec.hpp"

namespace weft::model {

/// Machine and profile, with what in them is assumed.
struct Ground {
  topology::MachineSpec machine;
  Profile profile;
  std::vector<config::SourcedUse> assumed;
};

/// Reads both; without a profile file the machine's own is taken. Throws config::ConfigErrors.
[[nodiscard]] Ground read_ground(const std::string& machine_file,
                                 const std::optional<std::string>& profile_file,
                                 const config::SearchPath& search);

/// The file of a machine's own profile; throws config::ConfigErrors where there is none.
[[nodiscard]] std::filesystem::path find_profile(const std::string& name,
                                                 const std::string& machine_file,
                                                 const config::SearchPath& search);

/// Why ranks at these places are no group that collectives are priced for: their nodes do not have as many each; none:
/// they are one.
[[nodiscard]] std::optional<std::string> uneven(const std::vector<topology::RankPlace>& places);

/// The places of one replica's `ranks` ranks, of `gpus` in all: replicas of a scattered order share every node.
[[nodiscard]] std::vector<topology::RankPlace> places_of(const topology::MachineSpec& machine,
                                                         RankOrder order, int ranks, int gpus);

/// Throws config::ConfigErrors where the machine has fewer GPUs than `file` asks for at `pointer`.
void check_ranks(const Ground& ground, int ranks, const std::string& pointer,
                 const std::string& file);

/// The boundary that a scenario file asks for. Throws config::ConfigErrors where its ranks are too many or no such
/// group, where a cut does not divide, or where not even its operands and results fit a GPU's memory.
[[nodiscard]] Boundary boundary_of(const BoundaryScenario& wanted, const Ground& ground,
                                   const std::string& file);

}  // namespace weft::model
