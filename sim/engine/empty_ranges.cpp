// SPDX-License-Identifier: Apache-2.0
// Ranges without a tile: a chunk that no tile falls to still hands its flags on.
//
// Such a range is complete once its waits are satisfied and the first of its role's CTAs has begun;
// then it posts, once. The last CTA of the role to leave stays, spinning, until all of them have.
#include <vector>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

// Completes those whose waits are satisfied and waits for the others.
void Simulation::complete_empty_ranges(std::uint32_t index) {
  std::vector<std::uint32_t> complete;
  RoleRun& role = roles_[index];
  std::erase_if(role.empty, [&](std::uint32_t number) {
    if (waits_satisfied(role, number)) {
      complete.push_back(number);
      return true;
    }
    wait_for_range(index, Waiter::Kind::role, role, number);
    return false;
  });
  for (const std::uint32_t number : complete) {
    if (recording()) see_waits(roles_[index], number);
    follow_up(roles_[index], number, 0);
  }
}

// CTAs that find no tile left go, but for the role's last one while a range of it is not complete.
void Simulation::leave(std::uint32_t index, std::uint32_t crew) {
  RoleRun& role = roles_[index];
  if (!role.empty.empty() && role.gone + crews_[crew].ctas == role.ctas) {
    const std::uint32_t last = crews_[crew].ctas > 1 ? split(crew, crews_[crew].ctas - 1) : crew;
    crews_[last].state = Crew::State::waiting;
    start_spin(last);
    role.parked.push_back(last);
    if (last == crew) return;
  }
  role.gone += crews_[crew].ctas;
  retire(crew);
}

}  // namespace weft::sim::engine
