// SPDX-License-Identifier: Apache-2.0
// A group of renumberings that takes every rank to every other, and the orbits of everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/fold/symmetry.hpp"

namespace weft::sim::fold_detail {

/// Sets of ids that renumberings take to one another.
class Orbits {
 public:
  explicit Orbits(std::size_t size);
  void join(const IdMap& map);
  /// Returns the least id of the orbit.
  [[nodiscard]] std::uint32_t first(std::uint32_t id) const;
  [[nodiscard]] std::uint32_t size(std::uint32_t id) const { return sizes_[first(id)]; }
  /// Counts sizes once all maps are joined.
  void count();

 private:
  std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> sizes_;
};

struct Group {
  Orbits memories;
  Orbits links;
  Orbits switches;
  Orbits gangs;
  /// to_first[r]: where rank number 0 goes under the element that takes number r to 0.
  std::vector<std::uint32_t> to_first;
};

/// Tries rotation, XOR and rotations of and within equal blocks; `why` says what kept the first
/// from being a symmetry.
std::optional<Group> find_group(const Machine& machine, const Program& program,
                                const RankView& view, std::string& why);

}  // namespace weft::sim::fold_detail
