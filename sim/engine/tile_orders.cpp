// SPDX-License-Identifier: Apache-2.0
// Which tile comes next for which CTAs, by the order of their role.
#include <algorithm>

#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

// The last range that begins at or before the tile.
Simulation::RangeEnd Simulation::range_holding(const RoleRun& role, std::int64_t tile) const {
  const Slice& ranges = program_.roles[role.role].ranges;
  const auto* const begin = compiled_.range_begin.data() + ranges.first;
  const auto* const range = std::upper_bound(begin, begin + ranges.count, tile) - 1;
  const auto number = static_cast<std::uint32_t>(range - begin);
  return {number, *range + range_of(role, number).tiles};
}

void Simulation::advance_by_position(std::uint32_t index) {
  // `idle` may not grow meanwhile: what follows at this moment comes through events.
  working_set_.clear();
  working_set_.swap(roles_[index].idle);
  for (std::size_t i = 0; i < working_set_.size(); ++i) {
    std::uint32_t crew = working_set_[i];
    for (;;) {
      RoleRun& role = roles_[index];
      const std::int64_t first_tile = crews_[crew].wave * role.ctas + crews_[crew].first;
      const std::int64_t left = role.tiles - first_tile;
      if (left <= 0) {
        leave(index, crew);
        break;
      }
      std::uint32_t rest = left < crews_[crew].ctas ? split(crew, left) : kNone;
      if (rest != kNone) leave(index, rest);
      const auto [number, end] = range_holding(role, first_tile);
      const TileRange& its = range_of(role, number);
      rest = first_tile + crews_[crew].ctas > end ? split(crew, end - first_tile) : kNone;
      std::int64_t steps = 1;
      if (!its.posts_per_tile && !steps_are_single(role)) {
        steps += (end - (first_tile + crews_[crew].ctas)) / role.ctas;
      }
      take_range(crew, number, first_tile, steps);
      if (rest == kNone) break;
      crew = rest;
    }
  }
}

void Simulation::advance_by_counter(std::uint32_t index) {
  working_set_.clear();
  working_set_.swap(roles_[index].idle);
  for (std::size_t i = 0; i < working_set_.size(); ++i) {
    std::uint32_t crew = working_set_[i];
    for (;;) {
      RoleRun& role = roles_[index];
      if (role.next_tile == role.tiles) {
        leave(index, crew);
        break;
      }
      const std::int64_t first_tile = role.next_tile;
      const auto [number, end] = range_holding(role, first_tile);
      std::uint32_t rest = kNone;
      if (crews_[crew].ctas > end - first_tile) rest = split(crew, end - first_tile);
      role.next_tile += crews_[crew].ctas;
      take_range(crew, number, first_tile, 1);
      if (rest == kNone) break;
      crew = rest;
    }
  }
}

// CTAs that are all there at once, and alike, go round as with shares by position. One that finds no tile stays until all
// that were taken are done: only then do CTAs that found no room come, with a tile of their own each.
void Simulation::advance_own_then_counter(std::uint32_t index) {
  working_set_.clear();
  working_set_.swap(roles_[index].idle);
  for (std::size_t i = 0; i < working_set_.size(); ++i) {
    std::uint32_t crew = working_set_[i];
    for (;;) {
      RoleRun& role = roles_[index];
      const bool own = crews_[crew].wave == 0;
      const std::int64_t first_tile = own ? crews_[crew].first : role.next_tile;
      if (first_tile >= role.tiles) {
        if (role.tiles_done < role.tiles_taken) {
          role.idle.push_back(crew);
        } else {
          leave(index, crew);
        }
        break;
      }
      const auto [number, end] = range_holding(role, first_tile);
      const TileRange& its = range_of(role, number);
      std::uint32_t rest = kNone;
      if (crews_[crew].ctas > end - first_tile) rest = split(crew, end - first_tile);
      std::int64_t steps = 1;
      const bool alike = own && crews_[crew].ctas == role.ctas && its.waits.count == 0;
      if (alike && !its.posts_per_tile && !steps_are_single(role)) {
        steps += (end - role.next_tile) / role.ctas;
        role.next_tile += (steps - 1) * role.ctas;
      }
      if (!own) role.next_tile += crews_[crew].ctas;
      role.tiles_taken += steps * crews_[crew].ctas;
      take_range(crew, number, first_tile, steps);
      if (rest == kNone) break;
      crew = rest;
    }
  }
}

void Simulation::advance_ready_first(std::uint32_t index) {
  working_set_.clear();
  working_set_.swap(roles_[index].idle);
  for (std::size_t i = 0; i < working_set_.size(); ++i) {
    std::uint32_t crew = working_set_[i];
    for (;;) {
      RoleRun& role = roles_[index];
      const std::uint32_t ranges = program_.roles[role.role].ranges.count;
      bool open = false;
      std::uint32_t number = 0;
      for (; number < ranges; ++number) {
        if (role.untaken[number] == 0) continue;
        open = true;
        if (waits_satisfied(role, number)) break;
      }
      if (!open) {
        leave(index, crew);
        break;
      }
      if (number == ranges) {
        park(index, crew);
        break;
      }
      std::uint32_t rest = kNone;
      if (crews_[crew].ctas > role.untaken[number]) rest = split(crew, role.untaken[number]);
      const std::int64_t first_tile =
          compiled_.range_begin[program_.roles[role.role].ranges.first + number] +
          range_of(role, number).tiles - role.untaken[number];
      role.untaken[number] -= crews_[crew].ctas;
      take_range(crew, number, first_tile, 1);
      if (rest == kNone) break;
      crew = rest;
    }
  }
}

}  // namespace weft::sim::engine
