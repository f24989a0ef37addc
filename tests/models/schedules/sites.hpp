// SPDX-License-Identifier: Apache-2.0
// Shipped machines and profiles as sites for tests.
#pragma once

#include <filesystem>
#include <string>

#include "models/profile/json.hpp"
#include "models/schedules/site.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {

/// The first `ranks` GPUs of a shipped machine, with its own profile.
inline topology::MachineSpec test_machine(const std::string& machine) {
  return topology::read_machine(std::filesystem::path("configs/machines") / machine).spec;
}

inline Site test_site(const topology::MachineSpec& spec, int ranks, bool scattered = false,
                      const std::vector<topology::Override>& overrides = {}) {
  const Profile profile = load_profile("configs/profiles/" + spec.profile + ".json");
  return make_site(
      spec, profile,
      scattered ? topology::scattered_places(spec, ranks) : topology::packed_places(spec, ranks),
      overrides);
}

inline Site test_site(const std::string& machine, int ranks, bool scattered = false,
                      const std::vector<topology::Override>& overrides = {}) {
  return test_site(test_machine(machine), ranks, scattered, overrides);
}

}  // namespace weft::model
