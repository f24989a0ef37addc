// SPDX-License-Identifier: Apache-2.0
#include "calibration/accuracy/split.hpp"

#include <bit>

#include <fmt/core.h>

#include "calibration/fit/split.hpp"

namespace weft::calibration {

namespace {

constexpr std::uint64_t kOneIn = 4;

/// The better mixed half of the hash.
std::uint64_t mixed(std::uint64_t hash) {
  return hash >> 32;
}

std::uint64_t text_hash(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

Part part_of(const Case& what, bool published) {
  if (!what.shape) {
    if (!published || !what.bytes) return Part::fit;
    const auto bytes = static_cast<std::uint64_t>(*what.bytes);
    const bool power_of_four = std::has_single_bit(bytes) && std::countr_zero(bytes) % 2 == 0;
    return power_of_four ? Part::fit : Part::held_out;
  }
  const Shape& s = *what.shape;
  if (published) return mixed(shape_hash({s.m, s.n, s.k})) % 2 == 0 ? Part::fit : Part::held_out;
  if (what.model.starts_with("qwen")) return Part::held_out;
  // Interference is measured at 6144 tokens alone: there the question is the traffic, not the shape.
  if (s.m == 6144 && what.suite != "interference") return Part::held_out;
  if (mixed(shape_hash({s.n, s.k})) % kOneIn == 0) return Part::held_out;
  if (mixed(shape_hash({s.m, s.n, s.k})) % kOneIn == 0) return Part::held_out;
  return Part::fit;
}

std::string group_of(const Case& what, Grouping grouping) {
  if (!what.shape) {
    return fmt::format("{} {} {}", what.operation, what.ranks.value_or(0), what.bytes.value_or(0));
  }
  const Shape& s = *what.shape;
  if (grouping == Grouping::by_weights) return fmt::format("{} {}", s.n, s.k);
  return fmt::format("{} {} {}", s.m, s.n, s.k);
}

int fold_of(const Case& what, Grouping grouping) {
  return static_cast<int>(mixed(text_hash(group_of(what, grouping))) %
                          static_cast<std::uint64_t>(fold_count));
}

}  // namespace weft::calibration
