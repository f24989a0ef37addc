// SPDX-License-Identifier: Apache-2.0
// The axes along which a model is spread over ranks.
//
// Sequence parallelism has no axis of its own: it is Shard(tokens) of activations along tp, where
// the weights of the same layer are sharded. Context parallelism (cp) is a separate axis.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::model {

enum class Axis : std::uint8_t { pp, dp, ep, cp, tp };

/// Every axis, outermost first: where two axes shard one dimension, the earlier one cuts first.
inline constexpr std::array<Axis, 5> every_axis = {Axis::pp, Axis::dp, Axis::ep, Axis::cp,
                                                   Axis::tp};

/// The name used in scenarios and messages.
constexpr std::string_view name_of(Axis axis) {
  constexpr std::array<std::string_view, 5> names = {"pp", "dp", "ep", "cp", "tp"};
  return names[static_cast<std::size_t>(axis)];
}

/// The number of ranks along each axis.
class Mesh {
 public:
  constexpr Mesh() = default;
  /// Returns this mesh with `ranks` ranks along `axis`.
  constexpr Mesh with(Axis axis, int ranks) const {
    Mesh changed = *this;
    changed.sizes_[static_cast<std::size_t>(axis)] = ranks;
    return changed;
  }
  /// Returns the number of ranks along `axis`.
  constexpr int size(Axis axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  /// Returns the number of ranks of the whole mesh.
  constexpr std::int64_t ranks() const {
    std::int64_t product = 1;
    for (const int size : sizes_) product *= size;
    return product;
  }
  friend constexpr bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::array<int, 5> sizes_ = {1, 1, 1, 1, 1};
};

}  // namespace weft::model
