// SPDX-License-Identifier: Apache-2.0
// How a tensor lies on one axis of the mesh: whole on every rank, cut along one of its dimensions,
// or as addends whose sum over the ranks is the tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "models/layouts/mesh.hpp"

namespace weft::model {

class Placement {
 public:
  enum class Kind : std::uint8_t { replicate, shard, partial };

  Placement() = default;
  /// Every rank holds the whole tensor.
  static Placement replicate() { return {}; }
  /// Rank i holds the i-th of equal slices along the dimension named `dim`.
  static Placement shard(std::string dim) { return {Kind::shard, std::move(dim)}; }
  /// Every rank holds an addend of the whole tensor's shape; the tensor is their sum.
  static Placement partial() { return {Kind::partial, {}}; }

  Kind kind() const { return kind_; }
  bool is_replicate() const { return kind_ == Kind::replicate; }
  bool is_shard() const { return kind_ == Kind::shard; }
  bool is_partial() const { return kind_ == Kind::partial; }
  /// Returns whether the tensor is cut along `dim`.
  bool is_shard(const std::string& dim) const { return is_shard() && dim_ == dim; }
  /// Returns the dimension it is cut along; empty unless it is a shard.
  const std::string& dim() const { return dim_; }

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  Placement(Kind kind, std::string dim) : kind_(kind), dim_(std::move(dim)) {}

  Kind kind_ = Kind::replicate;
  std::string dim_;
};

/// Returns "Replicate", "Shard(tokens)" or "Partial(sum)".
std::string to_text(const Placement& placement);

/// A placement on every axis of the mesh; Replicate where nothing was said.
class Placements {
 public:
  Placements() = default;
  Placements(Axis axis, Placement placement) { on(axis) = std::move(placement); }

  Placement& on(Axis axis) { return each_[static_cast<std::size_t>(axis)]; }
  const Placement& on(Axis axis) const { return each_[static_cast<std::size_t>(axis)]; }
  /// Returns these placements with another one on `axis`.
  Placements with(Axis axis, Placement placement) const {
    Placements changed = *this;
    changed.on(axis) = std::move(placement);
    return changed;
  }
  friend bool operator==(const Placements&, const Placements&) = default;

 private:
  std::array<Placement, 5> each_;
};

/// Returns e.g. "Shard(tokens) on tp", every axis that is not Replicate; "Replicate" if there is
/// none.
std::string to_text(const Placements& placements);

}  // namespace weft::model
