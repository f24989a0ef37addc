// SPDX-License-Identifier: Apache-2.0
#include "sim/fold/orbits.hpp"

#include <bit>
#include <numeric>

namespace weft::sim::fold_detail {

Orbits::Orbits(std::size_t size) : parent_(size) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

std::uint32_t Orbits::first(std::uint32_t id) const {
  while (parent_[id] != id) id = parent_[id];
  return id;
}

void Orbits::join(const IdMap& map) {
  for (std::uint32_t id = 0; id < parent_.size(); ++id) {
    const std::uint32_t a = first(id);
    const std::uint32_t b = first(map(id));
    // The least id is the root.
    if (a < b) parent_[b] = a;
    if (b < a) parent_[a] = b;
  }
}

void Orbits::count() {
  sizes_.assign(parent_.size(), 0);
  for (std::uint32_t id = 0; id < parent_.size(); ++id) {
    parent_[id] = first(id);
    ++sizes_[parent_[id]];
  }
}

namespace {

/// Generators of a group that has one element for each rank.
struct Candidate {
  std::vector<Renumbering> generators;
  std::vector<std::uint32_t> to_first;
};

Candidate xor_group(std::uint32_t ranks) {
  Candidate candidate;
  for (std::uint32_t bit = 1; bit < ranks; bit *= 2) {
    Renumbering& map = candidate.generators.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r) map.push_back(r ^ bit);
  }
  for (std::uint32_t r = 0; r < ranks; ++r) candidate.to_first.push_back(r);
  return candidate;
}

// Rotation within blocks of `block` ranks, and of the blocks.
Candidate block_rotations(std::uint32_t ranks, std::uint32_t block) {
  Candidate candidate;
  const std::uint32_t blocks = ranks / block;
  if (block > 1) {
    Renumbering& inner = candidate.generators.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r) inner.push_back(r / block * block + (r + 1) % block);
  }
  if (blocks > 1) {
    Renumbering& outer = candidate.generators.emplace_back();
    for (std::uint32_t r = 0; r < ranks; ++r) outer.push_back((r + block) % ranks);
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::uint32_t inner = (block - r % block) % block;
    const std::uint32_t outer = (blocks - r / block) % blocks;
    candidate.to_first.push_back(outer * block + inner);
  }
  return candidate;
}

}  // namespace

std::optional<Group> find_group(const Machine& machine, const Program& program,
                                const RankView& view, std::string& why) {
  const auto ranks = static_cast<std::uint32_t>(view.ranks.size());
  std::vector<Candidate> candidates{block_rotations(ranks, ranks)};
  for (std::uint32_t block = 2; block < ranks; ++block) {
    if (ranks % block == 0) candidates.push_back(block_rotations(ranks, block));
  }
  if (std::has_single_bit(ranks)) candidates.push_back(xor_group(ranks));
  const RouteIndex index(machine);
  for (const Candidate& candidate : candidates) {
    Group group{Orbits(machine.memories.size()), Orbits(machine.links.size()),
                Orbits(machine.switches.size()), Orbits(program.gangs.size()), candidate.to_first};
    std::optional<std::string> broken;
    for (const Renumbering& generator : candidate.generators) {
      Symmetry symmetry(machine, program, view, index, generator);
      broken = symmetry.check();
      if (broken) break;
      group.memories.join(symmetry.memories());
      group.links.join(symmetry.links());
      group.switches.join(symmetry.switches());
      group.gangs.join(symmetry.gangs());
    }
    if (broken) {
      if (why.empty()) why = *broken;
      continue;
    }
    group.memories.count();
    group.links.count();
    group.switches.count();
    group.gangs.count();
    return group;
  }
  return std::nullopt;
}

}  // namespace weft::sim::fold_detail
