// SPDX-License-Identifier: Apache-2.0
// Activities and resources coming and going; the filling itself is in filling.cpp.
#include "sim/solver/fair_share.hpp"

#include "sim/units/check.hpp"

namespace weft::sim {

namespace {

constexpr std::uint64_t bound(int bits) {
  return std::uint64_t{1} << bits;
}

constexpr UInt128 divide_up(UInt128 numerator, UInt128 denominator) {
  return numerator == 0 ? 0 : (numerator - 1) / denominator + 1;
}

}  // namespace

ResourceId FairShare::add_resource(std::uint64_t capacity) {
  WEFT_CHECK(capacity > 0 && capacity < bound(62), "a resource of {} units a second", capacity);
  if (resource_count_ == resources_.size()) resources_.emplace_back();
  Resource& resource = resources_[resource_count_];
  std::vector<Member> members = std::move(resource.members);
  members.clear();
  resource = {};
  resource.members = std::move(members);
  resource.capacity = capacity;
  resource.full_capacity = UInt128{capacity} << 16;
  return ResourceId(static_cast<std::uint32_t>(resource_count_++));
}

void FairShare::clear() {
  resource_count_ = 0;
  activities_.clear();
  uses_.clear();
  free_activities_.clear();
  for (std::vector<std::uint32_t>& free : free_uses_) free.clear();
  touched_.clear();
  dirty_.clear();
  changed_.clear();
  round_ = 0;
}

ActivityId FairShare::add(const Demand& demand) {
  WEFT_CHECK(demand.denominator > 0 && demand.denominator < bound(40), "a denominator of {}",
             demand.denominator);
  WEFT_CHECK(demand.weight > 0 && demand.weight < bound(24), "a weight of {}", demand.weight);
  WEFT_CHECK(demand.weight_per > 0 && UInt128{demand.weight_per} * demand.denominator < bound(48),
             "a weight per {} units over a denominator of {}", demand.weight_per,
             demand.denominator);
  std::uint32_t index = 0;
  if (free_activities_.empty()) {
    index = static_cast<std::uint32_t>(activities_.size());
    activities_.emplace_back();
  } else {
    index = free_activities_.back();
    free_activities_.pop_back();
  }
  Activity& activity = activities_[index];
  Activity fresh;
  fresh.visited = activity.visited;
  fresh.touched = activity.touched;
  activity = fresh;
  activity.used = true;
  take_uses(activity, demand.uses);
  activity.denominator = demand.denominator;
  activity.weight = demand.weight;
  activity.weight_denominator = demand.weight_per * demand.denominator;
  assign_cap(activity, demand.cap);
  activity.scale =
      PaceScale::of_cap((activity.cap + (activity.cap_exact ? 0 : 1)) * activity.denominator);
  if (demand.multiplicity != 0) charge(index, demand.multiplicity);
  return ActivityId(index);
}

// Copies the uses into the pool, resources named twice merged.
void FairShare::take_uses(Activity& activity, std::span<const ResourceUse> uses) {
  activity.use_room = static_cast<std::uint32_t>(uses.size());
  if (free_uses_.size() <= uses.size()) free_uses_.resize(uses.size() + 1);
  std::vector<std::uint32_t>& free = free_uses_[uses.size()];
  if (free.empty()) {
    activity.first_use = static_cast<std::uint32_t>(uses_.size());
    uses_.resize(uses_.size() + uses.size());
  } else {
    activity.first_use = free.back();
    free.pop_back();
  }
  ++round_;
  for (const ResourceUse& use : uses) {
    WEFT_CHECK(use.resource.value() < resource_count_, "resource {} of {}", use.resource.value(),
               resource_count_);
    if (use.amount == 0) continue;
    Resource& resource = resources_[use.resource.value()];
    if (resource.visited == round_) {
      uses_[resource.merged_use].amount += use.amount;
    } else {
      resource.visited = round_;
      resource.merged_use = activity.first_use + activity.use_count++;
      uses_[resource.merged_use] = {use.resource.value(), 0, use.amount, 0};
    }
    WEFT_CHECK(use.amount < bound(48) && uses_[resource.merged_use].amount < bound(48),
               "an amount of {}", use.amount);
  }
}

// The cap of y = x / denominator: the activity's own, or the least that a resource leaves to one
// copy alone.
void FairShare::assign_cap(Activity& activity, std::optional<ProgressRate> cap) {
  activity.cap_limit = kNone;
  activity.cap_exact = true;
  activity.cap = ~UInt128{0};
  activity.rounded_cap = ~UInt128{0};
  if (cap) {
    WEFT_CHECK(cap->numerator < bound(62) && cap->denominator > 0 && cap->denominator < bound(48),
               "a cap of {} / {} units a second", cap->numerator, cap->denominator);
    const UInt128 denominator = UInt128{cap->denominator} * activity.denominator;
    const UInt128 numerator = UInt128{cap->numerator} << 64;
    activity.cap = numerator / denominator;
    activity.cap_exact = activity.cap * denominator == numerator;
    activity.rounded_cap = divide_up(UInt128{cap->numerator} << 16, denominator);
  }
  for (std::uint32_t u = activity.first_use; u < activity.first_use + activity.use_count; ++u) {
    const Resource& resource = resources_[uses_[u].resource];
    const UInt128 amount = uses_[u].amount;
    // Whole units first: the product with the full fraction may not fit.
    const bool above = (activity.cap >> 64) >= resource.capacity ||
                       amount * ((activity.cap >> 64) + 1) > resource.capacity;
    if (!above) continue;
    const UInt128 alone = (resource.capacity << 64) / amount;
    if (alone >= activity.cap) continue;
    activity.cap = alone;
    activity.cap_exact = alone * amount == resource.capacity << 64;
    activity.rounded_cap = divide_up(resource.capacity << 16, amount);
    activity.cap_limit = uses_[u].resource;
  }
  WEFT_CHECK(activity.cap != ~UInt128{0}, "an activity that nothing limits");
  for (std::uint32_t u = activity.first_use; u < activity.first_use + activity.use_count; ++u) {
    uses_[u].full_load = activity.rounded_cap * uses_[u].amount;
  }
  WEFT_CHECK(activity.cap < (UInt128{1} << 126) / activity.denominator,
             "an activity that may progress by more than 2^62 units a second");
}

void FairShare::set_multiplicity(ActivityId activity, std::uint64_t multiplicity) {
  if (running(activity).multiplicity == multiplicity) return;
  charge(activity.value(), multiplicity);
}

void FairShare::set_cap(ActivityId activity, std::optional<ProgressRate> cap) {
  Activity& changed = running(activity);
  const std::uint64_t multiplicity = changed.multiplicity;
  if (multiplicity != 0) charge(activity.value(), 0);
  assign_cap(changed, cap);
  WEFT_CHECK(
      PaceScale::of_cap((changed.cap + 1) * changed.denominator).bits + 1 >= changed.scale.bits,
      "a cap far above the one that the activity was added with");
  if (multiplicity != 0) charge(activity.value(), multiplicity);
}

void FairShare::remove(ActivityId activity) {
  Activity& leaving = running(activity);
  if (leaving.multiplicity != 0) charge(activity.value(), 0);
  leaving.used = false;
  free_activities_.push_back(activity.value());
  free_uses_[leaving.use_room].push_back(leaving.first_use);
}

FairShare::Activity& FairShare::running(ActivityId activity) {
  WEFT_CHECK(activity.value() < activities_.size() && activities_[activity.value()].used,
             "activity {} is not there", activity.value());
  return activities_[activity.value()];
}

// Moves an activity from its present number of copies to another one.
void FairShare::charge(std::uint32_t index, std::uint64_t multiplicity) {
  WEFT_CHECK(multiplicity < bound(24), "{} copies of an activity", multiplicity);
  Activity& activity = activities_[index];
  const bool joins = activity.multiplicity == 0;
  const bool leaves = multiplicity == 0;
  const std::uint64_t copies = multiplicity > activity.multiplicity
                                   ? multiplicity - activity.multiplicity
                                   : activity.multiplicity - multiplicity;
  for (std::uint32_t u = activity.first_use; u < activity.first_use + activity.use_count; ++u) {
    Use& use = uses_[u];
    Resource& resource = resources_[use.resource];
    if (resource.contended) mark_dirty(use.resource);
    if (multiplicity > activity.multiplicity) {
      resource.full_load += copies == 1 ? use.full_load : use.full_load * copies;
    } else {
      resource.full_load -= copies == 1 ? use.full_load : use.full_load * copies;
    }
    resource.contended = resource.full_load > resource.full_capacity;
    if (resource.contended) mark_dirty(use.resource);
    if (joins) {
      use.slot = static_cast<std::uint32_t>(resource.members.size());
      resource.members.push_back({index, u});
    } else if (leaves) {
      const Member last = resource.members.back();
      resource.members[use.slot] = last;
      uses_[last.use].slot = use.slot;
      resource.members.pop_back();
    }
  }
  activity.multiplicity = multiplicity;
  if (leaves) {
    activity.rate = 0;
    activity.slack = 0;
    activity.limit = kNone;
    activity.pace = Pace();
  } else {
    touch(index);
  }
}

void FairShare::touch(std::uint32_t index) {
  if (activities_[index].touched) return;
  activities_[index].touched = true;
  touched_.push_back(index);
}

void FairShare::mark_dirty(std::uint32_t resource) {
  if (resources_[resource].dirty) return;
  resources_[resource].dirty = true;
  dirty_.push_back(resource);
}

double FairShare::units_per_second(ActivityId activity) const {
  const Activity& running = at(activity);
  constexpr double kUnit = 0x1p-64;
  const auto whole = static_cast<double>(static_cast<std::uint64_t>(running.rate >> 64));
  const auto fraction = static_cast<double>(static_cast<std::uint64_t>(running.rate)) * kUnit;
  return (whole + fraction) * static_cast<double>(running.denominator);
}

UInt128 FairShare::exact_load(ResourceId resource) const {
  UInt128 load = 0;
  for (const Member& member : resources_.at(resource.value()).members) {
    const Activity& activity = activities_[member.activity];
    load += activity.rate * activity.multiplicity * uses_[member.use].amount;
  }
  return load;
}

std::uint64_t FairShare::capacity(ResourceId resource) const {
  return static_cast<std::uint64_t>(resources_.at(resource.value()).capacity);
}

}  // namespace weft::sim
