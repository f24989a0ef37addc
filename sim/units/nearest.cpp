// SPDX-License-Identifier: Apache-2.0
#include "sim/units/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {
namespace {

// Costs in half edits.
constexpr std::size_t kEdit = 2;
constexpr std::size_t kCase = 1;

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::size_t substitution(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? kCase : kEdit;
}

// Optimal string alignment distance, three rows at a time.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j * kEdit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * kEdit;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + kEdit, row[j - 1] + kEdit,
                         previous[j - 1] + substitution(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + kEdit);
      }
    }
    std::swap(before, previous);
    std::swap(previous, row);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view typed,
                                        std::span<const std::string_view> names) {
  // A name that is much longer than any known one is no slip of the finger, and costs a quadratic
  // search.
  constexpr std::size_t kLongest = 256;
  if (typed.empty() || typed.size() > kLongest) return std::nullopt;
  const std::size_t limit = kEdit * (1 + typed.size() / 3);
  std::optional<std::string> best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view name : names) {
    if (name.size() > kLongest) continue;
    const std::size_t longer = std::max(typed.size(), name.size()),
                      shorter = std::min(typed.size(), name.size());
    if (kEdit * (longer - shorter) >= best_distance) continue;  // as many edits at least
    const std::size_t d = distance(typed, name);
    if (d < best_distance && d < kEdit * typed.size()) {
      best_distance = d;
      best = std::string(name);
    }
  }
  // The beginning of a name says which is meant once it is more than its family's initials.
  constexpr std::size_t kBeginning = 3;
  if (best || typed.size() < kBeginning) return best;
  for (const std::string_view name : names) {
    if (name.starts_with(typed) && (!best || name.size() < best->size())) best = std::string(name);
  }
  return best;
}

}  // namespace weft
