// SPDX-License-Identifier: Apache-2.0
// The filling of one component of contended resources.
#include <algorithm>
#include <numeric>

#include "sim/solver/fair_share.hpp"
#include "sim/units/check.hpp"

namespace weft::sim {

namespace {

constexpr int kWeightBits = 62;
constexpr int kFractionBits = 32;
// Sums of weights leave room for a level's fraction.
constexpr int kSumBits = 126 - kFractionBits;

}  // namespace

FillLevel FillLevel::of(UInt128 residual, UInt128 weight) {
  FillLevel level;
  level.whole = residual / weight;
  UInt128 rest = residual - level.whole * weight;
  if (rest == 0) return level;
  level.rest = Rest::below_whole;
  if (bit_length(rest) + kFractionBits > 128) return level;
  rest <<= kFractionBits;
  level.fraction = static_cast<std::uint64_t>(rest / weight);
  level.rest = rest == weight * level.fraction ? Rest::none : Rest::below_fraction;
  return level;
}

std::span<const ActivityId> FairShare::solve() {
  changed_.clear();
  if (touched_.empty() && dirty_.empty()) return changed_;
  ++round_;
  for (const std::uint32_t index : touched_) {
    Activity& activity = activities_[index];
    activity.touched = false;
    if (activity.multiplicity != 0 && activity.visited != round_) settle_component(index);
  }
  touched_.clear();
  for (const std::uint32_t index : dirty_) {
    resources_[index].dirty = false;
    for (const Member& member : resources_[index].members) {
      if (activities_[member.activity].visited != round_) settle_component(member.activity);
    }
  }
  dirty_.clear();
  return changed_;
}

void FairShare::settle_component(std::uint32_t seed) {
  Activity& alone = activities_[seed];
  const Use* const uses = uses_.data() + alone.first_use;
  const bool shares = std::any_of(uses, uses + alone.use_count, [&](const Use& use) {
    return resources_[use.resource].contended;
  });
  if (!shares) {
    alone.visited = round_;
    assign(seed, alone.cap, alone.cap_exact ? 0 : 1, alone.cap_limit);
    return;
  }
  collect(seed);
  scale_weights();
  fill();
}

// All that is connected to the seed through contended resources.
void FairShare::collect(std::uint32_t seed) {
  component_.clear();
  component_resources_.clear();
  component_.push_back(seed);
  activities_[seed].visited = round_;
  for (std::size_t next = 0; next < component_.size(); ++next) {
    const Activity& activity = activities_[component_[next]];
    for (std::uint32_t u = activity.first_use; u < activity.first_use + activity.use_count; ++u) {
      Resource& resource = resources_[uses_[u].resource];
      if (!resource.contended || resource.visited == round_) continue;
      resource.visited = round_;
      component_resources_.push_back(uses_[u].resource);
      for (const Member& member : resource.members) {
        Activity& neighbour = activities_[member.activity];
        if (neighbour.visited == round_) continue;
        neighbour.visited = round_;
        component_.push_back(member.activity);
      }
    }
  }
}

// Integers in the proportion weight / weight_denominator, below 2^62, whose sums fit.
void FairShare::scale_weights() {
  const std::uint64_t common = activities_[component_.front()].weight_denominator;
  bool equal = true;
  for (const std::uint32_t index : component_) {
    equal = equal && activities_[index].weight_denominator == common;
  }
  if (equal) {
    for (const std::uint32_t index : component_) {
      activities_[index].scaled_weight = activities_[index].weight;
    }
  } else if (!scale_exactly()) {
    scale_rounded();
  }
}

// Bits of the largest sum of weights x uses of a resource: the same for p activities and for one
// that stands for them with p times their uses.
int FairShare::bits_of_sums() const {
  constexpr int kHalf = 31;
  constexpr std::uint64_t kLow = (std::uint64_t{1} << kHalf) - 1;
  int most = 0;
  for (const std::uint32_t index : component_resources_) {
    UInt128 high = 0;
    UInt128 low = 0;
    for (const Member& member : resources_[index].members) {
      const Activity& activity = activities_[member.activity];
      const UInt128 copies = UInt128{uses_[member.use].amount} * activity.multiplicity;
      high += copies * (activity.scaled_weight >> kHalf);
      low += copies * (activity.scaled_weight & kLow);
    }
    high += low >> kHalf;
    most = std::max(most, high != 0 ? bit_length(high) + kHalf : bit_length(low));
  }
  return most;
}

// By the least common denominator, if that fits.
bool FairShare::scale_exactly() {
  constexpr UInt128 kLimit = UInt128{1} << 64;
  UInt128 common = 1;
  for (const std::uint32_t index : component_) {
    const std::uint64_t denominator = activities_[index].weight_denominator;
    const auto rest = static_cast<std::uint64_t>(common % denominator);
    common *= denominator / std::gcd(denominator, rest);
    if (common >= kLimit) return false;
  }
  for (const std::uint32_t index : component_) {
    Activity& activity = activities_[index];
    const UInt128 scaled = common / activity.weight_denominator * activity.weight;
    if (bit_length(scaled) > kWeightBits) return false;
    activity.scaled_weight = static_cast<std::uint64_t>(scaled);
  }
  return bits_of_sums() <= kSumBits;
}

// By the largest power of two that fits, rounded down.
void FairShare::scale_rounded() {
  int shift = 126;
  for (const std::uint32_t index : component_) {
    const Activity& activity = activities_[index];
    const int own = bit_length(activity.weight) - bit_length(activity.weight_denominator) + 1;
    shift = std::min({shift, kWeightBits - own, 126 - bit_length(activity.weight)});
  }
  for (;;) {
    for (const std::uint32_t index : component_) {
      Activity& activity = activities_[index];
      const UInt128 scaled = (UInt128{activity.weight} << shift) / activity.weight_denominator;
      activity.scaled_weight = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
    }
    const int over = bits_of_sums() - kSumBits;
    if (over <= 0 || shift == 0) return;
    shift = std::max(0, shift - over);
  }
}

void FairShare::fill() {
  for (const std::uint32_t index : component_resources_) {
    Resource& resource = resources_[index];
    resource.residual = resource.capacity << 64;
    resource.weight = 0;
    resource.level_known = false;
    for (const Member& member : resource.members) {
      const Activity& activity = activities_[member.activity];
      resource.weight +=
          UInt128{activity.scaled_weight} * uses_[member.use].amount * activity.multiplicity;
    }
  }
  step_ = 0;
  rising_.assign(component_.begin(), component_.end());
  for (const std::uint32_t index : rising_) activities_[index].stopped = 0;
  while (!rising_.empty()) {
    ++step_;
    const FillLevel level = lowest_level();
    if (!stop_at_caps(level)) {
      // Resources that fill at the same level stop their activities together, whichever is looked
      // at first; one whose level needed no rounding says what the level is.
      for (const std::uint32_t index : component_resources_) {
        Resource& resource = resources_[index];
        resource.full = resource.weight != 0 && resource.level.same(level);
      }
      stop_at_full(true);
      stop_at_full(false);
    }
    std::erase_if(rising_, [&](std::uint32_t index) { return activities_[index].stopped != 0; });
  }
}

// The level at which the next resource is full if nobody stops before.
FillLevel FairShare::lowest_level() {
  FillLevel lowest{.whole = ~UInt128{0}};
  for (const std::uint32_t index : component_resources_) {
    Resource& resource = resources_[index];
    if (resource.weight == 0) continue;
    if (!resource.level_known) {
      resource.level = FillLevel::of(resource.residual, resource.weight);
      resource.level_known = true;
    }
    if (resource.level.below(lowest)) lowest = resource.level;
  }
  return lowest;
}

// Stops all activities whose cap is not above the level; says whether there were any.
bool FairShare::stop_at_caps(const FillLevel& level) {
  bool any = false;
  for (const std::uint32_t index : rising_) {
    const Activity& activity = activities_[index];
    if (activity.cap > level.rate(activity.scaled_weight)) continue;
    stop(index, activity.cap, activity.cap_exact ? 0 : 1, activity.cap_limit);
    any = true;
  }
  return any;
}

void FairShare::stop_at_full(bool exact) {
  for (const std::uint32_t index : component_resources_) {
    const Resource& resource = resources_[index];
    if (!resource.full || resource.level.exact() != exact) continue;
    const FillLevel level = resource.level;
    for (const Member& member : resource.members) {
      Activity& activity = activities_[member.activity];
      if (activity.stopped == 0) {
        stop(member.activity, level.rate(activity.scaled_weight),
             level.slack(activity.scaled_weight), index);
      } else if (activity.stopped == step_) {
        activity.limit = std::min(activity.limit, index);
      }
    }
  }
}

void FairShare::stop(std::uint32_t index, UInt128 rate, std::uint64_t slack, std::uint32_t limit) {
  Activity& activity = activities_[index];
  activity.stopped = step_;
  for (std::uint32_t u = activity.first_use; u < activity.first_use + activity.use_count; ++u) {
    Resource& resource = resources_[uses_[u].resource];
    if (!resource.contended) continue;
    const UInt128 copies = UInt128{uses_[u].amount} * activity.multiplicity;
    resource.residual -= copies * rate;
    resource.weight -= copies * activity.scaled_weight;
    resource.level_known = false;
  }
  assign(index, rate, slack, limit);
}

void FairShare::assign(std::uint32_t index, UInt128 rate, std::uint64_t slack,
                       std::uint32_t limit) {
  Activity& activity = activities_[index];
  activity.limit = limit;
  if (activity.rate == rate && activity.slack == slack) return;
  activity.rate = rate;
  activity.slack = slack;
  const UInt128 above = std::min(rate + slack, activity.cap + (activity.cap_exact ? 0 : 1));
  activity.pace = activity.scale.pace(above * activity.denominator);
  changed_.push_back(ActivityId(index));
}

}  // namespace weft::sim
