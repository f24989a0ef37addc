// SPDX-License-Identifier: Apache-2.0
// Which rate does each activity get while activities share resources?
//
//   x_i <= cap_i,   sum_i m_i (n_ij / d_i) x_i <= C_j,   x weighted max-min fair:
//   each x_i is at its cap, or crosses a full resource where no x_k / w_k is larger.
//
// Solved by filling: the level rises for all, an activity stops at its cap, all activities of a
// resource stop when it is full. Every quantity is an integer: y_i = x_i / d_i in units of 2^-64 a
// second, capacities and sums in 128 bits. A filling level is one division, residual / sum of
// weights, rounded down, so rates are a function of the multiset of activities and never exceed a
// capacity; k copies (multiplicity k) and k activities give the same bits. Weights w_i / d_i are
// brought to the least common denominator of their component. Where that would not fit they are
// rounded to a common fraction of the largest, 2^-62 or what sums in 128 bits allow: this moves
// shares by as much, and no load at all.
//
// Only resources that their activities could overfill by running at their caps connect anything:
// the rest cannot bind. `solve` walks the components of such resources that were touched since the
// last call. (Bertsekas and Gallager, Data Networks, 2nd ed., section 6.5.2, for the definition.)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/solver/demand.hpp"
#include "sim/solver/pace.hpp"
#include "sim/solver/wide.hpp"
#include "sim/units/check.hpp"

namespace weft::sim {

/// A filling level, whole + fraction x 2^-32, and what was rounded away.
struct FillLevel {
  enum class Rest : std::uint8_t { none, below_fraction, below_whole };

  UInt128 whole = 0;
  std::uint64_t fraction = 0;
  Rest rest = Rest::none;

  /// residual / weight, rounded down; the fraction is there where the weight leaves room for it.
  static FillLevel of(UInt128 residual, UInt128 weight);
  /// The rate of an activity of this weight, rounded down.
  [[nodiscard]] UInt128 rate(std::uint64_t weight) const {
    return whole * weight + (UInt128{fraction} * weight >> 32);
  }
  /// What must be added to rate() to be not below the true one.
  [[nodiscard]] std::uint64_t slack(std::uint64_t weight) const {
    switch (rest) {
      case Rest::none:
        return fraction == 0 ? 0 : 1;
      case Rest::below_fraction:
        return (weight >> 32) + 2;
      case Rest::below_whole:
        break;
    }
    return weight;
  }
  [[nodiscard]] bool exact() const { return rest == Rest::none; }
  [[nodiscard]] bool same(const FillLevel& other) const {
    return whole == other.whole && fraction == other.fraction;
  }
  [[nodiscard]] bool below(const FillLevel& other) const {
    return whole != other.whole ? whole < other.whole : fraction < other.fraction;
  }
};

class FairShare {
 public:
  /// Forgets all resources and activities; keeps the memory that they took.
  void clear();
  /// Adds a resource of `capacity` units a second (positive, below 2^62).
  ResourceId add_resource(std::uint64_t capacity);

  /// Adds an activity; it runs from the next solve() on. Multiplicity 0 parks it.
  ActivityId add(const Demand& demand);
  /// Changes how many copies of an activity run; 0 parks it and keeps its id.
  void set_multiplicity(ActivityId activity, std::uint64_t multiplicity);
  /// Changes an activity's own cap.
  void set_cap(ActivityId activity, std::optional<ProgressRate> cap);
  /// Takes an activity out for good; its id may be given to a later one.
  void remove(ActivityId activity);

  /// Brings all rates up to date; returns the running activities whose rate changed, each once.
  std::span<const ActivityId> solve();

  /// Returns the progress of one copy, as of the last solve(); zero while parked.
  [[nodiscard]] Pace pace(ActivityId activity) const { return at(activity).pace; }
  /// Returns the units in which the activity's paces count, fixed while its cap does not rise.
  [[nodiscard]] PaceScale scale(ActivityId activity) const { return at(activity).scale; }
  /// Returns the resource that holds the activity back; none while its own cap does.
  [[nodiscard]] std::optional<ResourceId> limit(ActivityId activity) const {
    const std::uint32_t limit = at(activity).limit;
    if (limit == kNone) return std::nullopt;
    return ResourceId(limit);
  }
  /// Returns the progress of one copy in units a second, for reports.
  [[nodiscard]] double units_per_second(ActivityId activity) const;
  /// Returns the exact rate of one copy divided by the demand's denominator, in 2^-64 a second.
  [[nodiscard]] UInt128 exact_rate(ActivityId activity) const { return at(activity).rate; }
  /// Returns what all activities take of a resource, in 2^-64 units a second.
  [[nodiscard]] UInt128 exact_load(ResourceId resource) const;
  /// Returns the capacity of a resource in units a second.
  [[nodiscard]] std::uint64_t capacity(ResourceId resource) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Member {
    std::uint32_t activity;
    std::uint32_t use;  // of uses_
  };
  struct Use {
    std::uint32_t resource;
    std::uint32_t slot;  // of the resource's members while the activity runs
    std::uint64_t amount;
    UInt128 full_load;  // of one copy at its cap, rounded up to 2^-16 units
  };
  struct Resource {
    UInt128 capacity = 0;       // whole units
    UInt128 full_capacity = 0;  // 2^-16 units
    UInt128 full_load = 0;      // of all members at their caps, rounded up to 2^-16 units
    UInt128 residual = 0;       // the rest belongs to one filling
    UInt128 weight = 0;
    FillLevel level;
    std::uint32_t visited = 0;
    std::uint32_t merged_use = 0;
    bool contended = false;
    bool dirty = false;
    bool level_known = false;
    bool full = false;
    std::vector<Member> members;
  };
  struct Activity {
    UInt128 cap = 0;          // of y, rounded down to 2^-64
    UInt128 rate = 0;         // y
    UInt128 rounded_cap = 0;  // of y, rounded up to 2^-16
    std::uint64_t slack = 0;  // y + slack is not below the exact level
    std::uint64_t multiplicity = 0;
    std::uint64_t weight = 1;
    std::uint64_t weight_denominator = 1;  // weight_per x denominator
    std::uint64_t scaled_weight = 1;
    std::uint64_t denominator = 1;
    Pace pace;
    PaceScale scale;
    std::uint32_t first_use = 0;
    std::uint32_t use_count = 0;
    std::uint32_t use_room = 0;  // of the pool; merged uses leave some of it empty
    std::uint32_t visited = 0;
    std::uint32_t stopped = 0;  // the step of the filling that stopped it; 0: still rising
    std::uint32_t limit = kNone;
    std::uint32_t cap_limit = kNone;  // the resource that the cap comes from
    bool cap_exact = true;
    bool touched = false;
    bool used = false;
  };

  [[nodiscard]] const Activity& at(ActivityId activity) const {
    WEFT_CHECK(activity.value() < activities_.size() && activities_[activity.value()].used,
               "activity {} is not there", activity.value());
    return activities_[activity.value()];
  }
  Activity& running(ActivityId activity);
  void take_uses(Activity& activity, std::span<const ResourceUse> uses);
  void assign_cap(Activity& activity, std::optional<ProgressRate> cap);
  void charge(std::uint32_t index, std::uint64_t multiplicity);
  void touch(std::uint32_t index);
  void mark_dirty(std::uint32_t resource);
  void settle_component(std::uint32_t seed);
  void collect(std::uint32_t seed);
  void scale_weights();
  [[nodiscard]] bool scale_exactly();
  void scale_rounded();
  [[nodiscard]] int bits_of_sums() const;
  void fill();
  [[nodiscard]] FillLevel lowest_level();
  bool stop_at_caps(const FillLevel& level);
  void stop_at_full(bool exact);
  void stop(std::uint32_t index, UInt128 rate, std::uint64_t slack, std::uint32_t limit);
  void assign(std::uint32_t index, UInt128 rate, std::uint64_t slack, std::uint32_t limit);

  std::vector<Resource> resources_;  // the first resource_count_; the rest is room
  std::size_t resource_count_ = 0;
  std::vector<Activity> activities_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> free_activities_;
  std::vector<std::vector<std::uint32_t>> free_uses_;  // by count
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> dirty_;
  std::vector<ActivityId> changed_;
  std::vector<std::uint32_t> component_;            // activities
  std::vector<std::uint32_t> component_resources_;  // contended ones
  std::vector<std::uint32_t> rising_;               // activities not yet stopped
  std::uint32_t round_ = 0;
  std::uint32_t step_ = 0;
};

}  // namespace weft::sim
