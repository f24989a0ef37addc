// SPDX-License-Identifier: Apache-2.0
// What a crew's work asks of the shared resources.
//
// Progress is counted in tiles of each CTA (chunking off: in ranges). Its coefficients are the
// bytes of a tile on memories, L2, links and switches, and on each pipe of contended SMs the demand
// times the tile's own time. Work counts by its bytes where it meets other work: the weight is a
// CTA's, and a tile is as many bytes as its greatest use; on contended SMs at least its share of
// an SM's time, an SM's second being its part of the memory's bandwidth.
#include <algorithm>
#include <utility>

#include "sim/engine/simulation.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

namespace {

// What an SM's share of time is measured by where the memory's bandwidth is not modelled: the scale
// of HBM, so that pipes and bytes are of one size.
constexpr std::int64_t kBytesPerSecondUnmodelled = 1'000'000'000'000;

constexpr std::uint64_t kPicosecondsPerNanosecond = 1'000;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

bool less(const ProgressRate& a, const ProgressRate& b) {
  return UInt128{a.numerator} * b.denominator < UInt128{b.numerator} * a.denominator;
}

void lower(std::optional<ProgressRate>& cap, const ProgressRate& limit) {
  if (!cap || less(limit, *cap)) cap = limit;
}

}  // namespace

// The uses lie in scratch memory until the next call.
Demand Simulation::crew_demand(const Crew& crew) {
  const bool fluid = !options_.effects.chunking;
  const RoleRun& role = roles_[crew.role_run];
  const TileRange& range = range_of(role, crew.range);
  const std::uint32_t device = compiled_.streams[runs_[role.run].stream].device;
  const std::int64_t time =
      fluid ? fluid_time(crew)
            : tile_time(role, program_.roles[role.role].ranges.first + crew.range);
  // So many copies of the work go on at the same rate.
  const auto copies = static_cast<std::uint64_t>(fluid ? range.tiles : crew.ctas);
  Demand demand;
  demand.weight = kCtaWeight;
  demand.multiplicity = copies;
  if (fluid && time > 0) {
    demand.cap = fluid_cap(crew, role.ctas);
  } else if (time > 0) {
    demand.cap = ProgressRate{static_cast<std::uint64_t>(kPicosecondsPerSecond),
                              static_cast<std::uint64_t>(time)};
  }
  scratch_uses_.clear();
  std::uint64_t counts_as = 1;
  const std::uint32_t list = uses_of(role, crew.range);
  if (list != kNone) {
    const UseList& uses = compiled_.use_lists[list];
    const auto* const first = compiled_.uses.data() + uses.first;
    scratch_uses_.assign(first, first + uses.count);
    demand.denominator = uses.denominator;
    counts_as = uses.counts_as;
    if (uses.cap && !fluid) {
      lower(demand.cap, {uses.cap->numerator, uses.cap->denominator * copies});
    }
  }
  const SharedResource& l2 = compiled_.resources[compiled_.l2_resource(device)];
  const auto l2_bytes = static_cast<std::uint64_t>(range.l2_bytes.count());
  if (l2_bytes > 0 && l2.capacity > 0) {
    counts_as = std::max(counts_as, l2_bytes);
    if (l2.shared) {
      scratch_uses_.push_back(
          {ResourceId(compiled_.l2_resource(device)), l2_bytes * demand.denominator});
    } else {
      lower(demand.cap, {l2.capacity, l2_bytes * copies});
    }
  }
  if (fluid) {
    counts_as =
        std::max<std::uint64_t>(1, counts_as * copies / static_cast<std::uint64_t>(role.ctas));
  }
  counts_as = std::max(counts_as, add_pipes(crew, range.demand, time, demand));
  demand.uses = scratch_uses_;
  demand.weight_per = counts_as;
  return demand;
}

// Adds the pipes of contended SMs; returns the bytes that its time on them counts for.
std::uint64_t Simulation::add_pipes(const Crew& crew, const SmDemand& its, std::int64_t time,
                                    const Demand& demand) {
  if (!shares_sms_ || time == 0) return 1;
  const RoleRun& role = roles_[crew.role_run];
  const std::int64_t milli[] = {its.tensor_milli, its.issue_milli, its.load_store_milli};
  bool contended = false;
  auto charge = [&](std::uint32_t batch, std::int64_t ctas) {
    const SmClass* const its_class = class_of(batch);
    if (its_class == nullptr) return;
    for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
      if (its_class->pipe[pipe] == kNone || milli[pipe] == 0) continue;
      contended = true;
      // Of all copies together: CTAs x demand x time.
      const Int128 amount =
          Int128{milli[pipe]} * time * ctas * static_cast<std::int64_t>(demand.denominator);
      scratch_uses_.push_back({ResourceId(its_class->pipe[pipe]),
                               static_cast<std::uint64_t>(divide_up(
                                   amount, static_cast<std::int64_t>(demand.multiplicity)))});
    }
  };
  if (options_.effects.chunking) {
    charge(crew.batch, crew.ctas);
  } else {
    for (const auto& [batch, ctas] : role.batches) charge(batch, ctas);
  }
  if (!contended) return 1;
  const Pool& pool = pools_[runs_[role.run].pool];
  const std::int64_t modelled =
      machine_.memories[machine_.devices[pool.device].memory.value()].bandwidth.bytes_per_second();
  const std::int64_t bandwidth = modelled > 0 ? modelled : kBytesPerSecondUnmodelled;
  const std::int64_t greatest = std::max({milli[0], milli[1], milli[2]});
  const std::int64_t sms = total_sms(machine_.devices[pool.device].sms.sms_per_gpc);
  const Int128 bytes = Int128{greatest} * time / 1000 * bandwidth / kPicosecondsPerSecond / sms;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, narrow(bytes)));
}

// Starts the crew's work as a flow where it shares anything; false where its time is its own.
bool Simulation::start_crew_flow(std::uint32_t index, std::int64_t time) {
  Crew& crew = crews_[index];
  const RoleRun& role = roles_[crew.role_run];
  const KernelRun& run = runs_[role.run];
  const bool fluid = !options_.effects.chunking;
  if (!fluid && !may_slow(run) && uses_of(role, crew.range) == kNone &&
      range_of(role, crew.range).l2_bytes.count() == 0) {
    return false;
  }
  const Demand demand = crew_demand(crew);
  if (demand.uses.empty()) {
    if (!demand.cap) return false;
    const bool alone = demand.cap->denominator == static_cast<std::uint64_t>(time);
    if (alone && !fluid && !may_slow(run)) return false;
  }
  crew.slowdown = 1000;
  const std::uint32_t range = fluid ? crew.range : static_cast<std::uint32_t>(crew.first_tile);
  crew.flow = start_flow(Flow::Owner::crew, index, shares_.add(demand),
                         fluid ? 1 : static_cast<std::uint64_t>(crew.tiles_per_cta),
                         key(now_, Phase::finish, run.command, range));
  apply_slowdown(index);
  return true;
}

// The crew goes on with what is left under its present demand.
void Simulation::rebind(std::uint32_t index) {
  Crew& crew = crews_[index];
  if (crew.state != Crew::State::working || crew.flow == kNone) return;
  crew.slowdown = 1000;
  Flow& flow = flows_[crew.flow];
  if (recording()) rate_change(flow, 0, std::nullopt);
  flow_of_[flow.activity.value()] = kNone;
  shares_.remove(flow.activity);
  attach(crew.flow, shares_.add(crew_demand(crew)));
  apply_slowdown(index);
}

// A waiting CTA on contended SMs takes its issue share all the time.
void Simulation::start_spin(std::uint32_t index) {
  Crew& crew = crews_[index];
  if (!shares_sms_ || !options_.effects.chunking) return;
  const SmClass* const its_class = class_of(crew.batch);
  const int spin = program_.roles[roles_[crew.role_run].role].spin_issue_milli;
  if (its_class == nullptr || spin == 0 || its_class->pipe[1] == kNone) return;
  // Progress is nanoseconds of spinning.
  const ResourceUse issue{ResourceId(its_class->pipe[1]),
                          static_cast<std::uint64_t>(spin) * kPicosecondsPerNanosecond};
  scratch_uses_.assign(1, issue);
  Demand demand;
  demand.uses = scratch_uses_;
  demand.weight = kCtaWeight;
  demand.cap = ProgressRate{kNanosecondsPerSecond, 1};
  demand.multiplicity = static_cast<std::uint64_t>(crew.ctas);
  crew.spin = shares_.add(demand).value();
  shares_touched_ = true;
  if (recording()) tell_spin(crew, static_cast<int>(crew.ctas));
}

void Simulation::stop_spin(std::uint32_t index) {
  if (recording()) tell_spin(crews_[index], 0);
  shares_.remove(ActivityId(std::exchange(crews_[index].spin, kNone)));
  shares_touched_ = true;
}

// The flow goes on as another activity.
void Simulation::attach(std::uint32_t index, ActivityId activity) {
  flows_[index].activity = activity;
  flows_[index].progress.rescale(shares_.scale(activity), now());
  if (activity.value() >= flow_of_.size()) flow_of_.resize(activity.value() + 1, kNone);
  flow_of_[activity.value()] = index;
  shares_touched_ = true;
  tell_pipes(flows_[index]);
}

}  // namespace weft::sim::engine
