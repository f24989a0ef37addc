// SPDX-License-Identifier: Apache-2.0
#include "calibration/sample/sample.hpp"

#include <algorithm>

#include "calibration/sample/sample_json.hpp"
#include "configs/reader/fingerprint.hpp"
#include "configs/reader/json_writer.hpp"

namespace weft::calibration {
namespace {

/// Quartile distance of a sorted range, at least one picosecond.
std::int64_t spread(const std::vector<Duration>& sorted, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  const std::int64_t width = sorted[begin + count * 3 / 4].ps() - sorted[begin + count / 4].ps();
  return std::max<std::int64_t>(width, 1);
}

}  // namespace

Duration median(std::vector<Duration> times) {
  if (times.empty()) return {};
  const std::size_t middle = (times.size() - 1) / 2;
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(middle), times.end());
  return times[middle];
}

std::vector<Mode> modes(const std::vector<Duration>& times) {
  if (times.empty()) return {};
  std::vector<Duration> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const std::size_t least = (count + 4) / 5;
  std::size_t best = 0;
  std::int64_t widest = 0;
  for (std::size_t cut = least; cut + least <= count && cut < count; ++cut) {
    const std::int64_t gap = sorted[cut].ps() - sorted[cut - 1].ps();
    if (gap > widest) {
      widest = gap;
      best = cut;
    }
  }
  const Duration middle = median(sorted);
  // Gaps of 5 % are beyond what clocks and launches add to one mode.
  const bool apart = best > 0 && widest > middle.ps() / 20 &&
                     widest > 4 * std::max(spread(sorted, 0, best), spread(sorted, best, count));
  if (!apart) return {{middle, 1.0}};
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(best);
  const double share = static_cast<double>(best) / static_cast<double>(count);
  return {{median({sorted.begin(), at}), share}, {median({at, sorted.end()}), 1.0 - share}};
}

std::string key(const Case& what) {
  return config::fingerprint(
      std::string_view(config::to_json(case_to_value(what), config::Layout::compact)));
}

}  // namespace weft::calibration
