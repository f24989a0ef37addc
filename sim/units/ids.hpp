// SPDX-License-Identifier: Apache-2.0
// Indices that cannot be mixed up: an Id of one tag does not convert to an Id of another.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

/// The index of one thing of the kind that `Tag` names.
template <class Tag>
class Id {
 public:
  constexpr explicit Id(std::uint32_t value) : value_(value) {}
  /// Returns the index.
  constexpr std::uint32_t value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  std::uint32_t value_;
};

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value());
  }
};
