// SPDX-License-Identifier: Apache-2.0
#include "models/cost/flashoverlap_predictor.hpp"

#include <algorithm>

#include "sim/units/check.hpp"
#include "sim/units/integer.hpp"

namespace weft::model {
namespace {

constexpr std::int64_t reserved_sms = 2;
constexpr std::int64_t most_merged_waves = 10;
constexpr std::size_t many_groups = 5;   // a grouping of more is looked at only
constexpr std::int64_t short_first = 2;  // if its first group is no longer than this
constexpr double gib = 1024.0 * 1024.0 * 1024.0;

std::int64_t sms_left(const FlashOverlapProblem& p) {
  return p.sms - reserved_sms;
}

}  // namespace

double flashoverlap_transfer(const FlashOverlapProblem& p, double elements) {
  WEFT_CHECK(!p.bandwidth.empty(), "a transfer of {} elements needs a bandwidth", elements);
  const auto& curve = p.bandwidth;
  double rate = curve.back().second;
  if (elements <= curve.front().first) {
    rate = curve.front().second;
  } else {
    for (std::size_t i = 1; i < curve.size(); ++i) {
      const auto& [x1, y1] = curve[i];
      const auto& [x0, y0] = curve[i - 1];
      if (elements > x1) continue;
      rate = y0 + (y1 - y0) * (elements - x0) / (x1 - x0);
      break;
    }
  }
  const double both_ways = p.op == CollectiveOp::all_reduce ? 2 : 1;
  return elements * 2 * both_ways * (p.ranks - 1) / rate / gib;
}

double flashoverlap_predict(const FlashOverlapProblem& p, const std::vector<std::int64_t>& groups) {
  const auto transfer = [&](std::int64_t tiles) {
    // The elements of a tile are rounded down, as there.
    return flashoverlap_transfer(p, static_cast<double>(p.m * p.n / p.tiles * tiles));
  };
  if (groups.size() == 1) return transfer(groups.front()) + p.gemm;
  const std::int64_t waves_alone = divide_up(p.tiles, static_cast<std::int64_t>(p.sms));
  const std::int64_t waves = divide_up(p.tiles, sms_left(p));
  const double gemm = p.gemm / static_cast<double>(waves_alone) * static_cast<double>(waves);
  double sent = 0, computed = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    sent = std::max(computed, sent) + (i == 0 ? 0 : transfer(groups[i - 1]));
    computed +=
        gemm / static_cast<double>(waves) * static_cast<double>(divide_up(groups[i], sms_left(p)));
  }
  return std::max(computed, sent) + transfer(groups.back());
}

std::vector<std::vector<std::int64_t>> flashoverlap_groupings(const FlashOverlapProblem& p) {
  const std::int64_t waves = divide_up(p.tiles, sms_left(p));
  const std::int64_t merged = divide_up(waves, most_merged_waves);
  const std::int64_t units = divide_up(waves, merged);
  std::vector<std::vector<std::int64_t>> all;
  // Bit i of a mask says that a group ends after unit i+1.
  for (std::int64_t mask = 0; mask < (std::int64_t{1} << (units - 1)); ++mask) {
    std::vector<std::int64_t> lengths = {1};
    for (std::int64_t unit = 1; unit < units; ++unit) {
      if ((mask >> (unit - 1)) & 1) {
        lengths.push_back(1);
      } else {
        ++lengths.back();
      }
    }
    if (lengths.size() > many_groups && lengths.front() > short_first) continue;
    std::int64_t left = p.tiles;
    for (std::int64_t& length : lengths) {
      length = std::min(length * merged * sms_left(p), left);
      left -= length;
    }
    all.push_back(std::move(lengths));
  }
  return all;
}

}  // namespace weft::model
