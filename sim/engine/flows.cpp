// SPDX-License-Identifier: Apache-2.0
// Progress at shared rates: a flow's end moves whenever the solver changes its pace.
#include "sim/engine/simulation.hpp"

namespace weft::sim::engine {

std::uint32_t Simulation::start_flow(Flow::Owner owner, std::uint32_t of, ActivityId activity,
                                     std::uint64_t amount, const EventKey& key) {
  const std::uint32_t index = flows_.take();
  Flow& flow = flows_[index];
  flow.owner = owner;
  flow.of = of;
  flow.activity = activity;
  flow.progress = Progress(amount, shares_.scale(activity), now());
  flow.rest = 0;
  flow.event = {};
  flow.key = key;
  if (activity.value() >= flow_of_.size()) flow_of_.resize(activity.value() + 1, kNone);
  flow_of_[activity.value()] = index;
  shares_touched_ = true;
  tell_pipes(flow);
  return index;
}

void Simulation::stop_flow(std::uint32_t index) {
  Flow& flow = flows_[index];
  queue_.cancel(flow.event);
  if (recording()) rate_change(flow, 0, std::nullopt);
  flow_of_[flow.activity.value()] = kNone;
  flows_.give_back(index);
  shares_touched_ = true;
}

void Simulation::schedule_flow(Flow& flow) {
  const TimePoint time = flow.progress.when_left(flow.rest);
  if (time == TimePoint::max()) {
    queue_.cancel(flow.event);
  } else if (queue_.pending(flow.event)) {
    queue_.reschedule(flow.event, flow.key.at(time));
  } else {
    flow.event = queue_.schedule(flow.key.at(time),
                                 {.what = What::flow_end, .of = flow_of_[flow.activity.value()]});
  }
}

void Simulation::solve() {
  if (!shares_touched_) return;
  follow_rates();
  if (any_terms_ && update_slowdowns()) follow_rates();
}

void Simulation::follow_rates() {
  shares_touched_ = false;
  for (const ActivityId activity : shares_.solve()) {
    if (activity.value() >= flow_of_.size()) continue;
    const std::uint32_t index = flow_of_[activity.value()];
    if (index == kNone) continue;
    Flow& flow = flows_[index];
    flow.progress.set_pace(shares_.pace(activity), now());
    schedule_flow(flow);
    if (recording()) {
      std::optional<StallReason> limit = limit_of(activity);
      if (!limit && flow.owner == Flow::Owner::crew && crews_[flow.of].slowdown > 1000) {
        limit = StallReason::interference;
      }
      rate_change(flow, shares_.units_per_second(activity), limit);
    }
  }
}

std::optional<StallReason> Simulation::limit_of(ActivityId activity) const {
  const std::optional<ResourceId> limit = shares_.limit(activity);
  if (!limit) return std::nullopt;
  if (limit->value() >= compiled_.resources.size()) return StallReason::sm_share;
  switch (compiled_.resources[limit->value()].kind) {
    case SharedResource::Kind::memory:
      return StallReason::hbm_share;
    case SharedResource::Kind::l2:
      return StallReason::l2_share;
    case SharedResource::Kind::link:
      return StallReason::link_share;
    case SharedResource::Kind::fabric_switch:
      return StallReason::fabric_switch;
  }
  return std::nullopt;
}

void Simulation::rate_change(const Flow& flow, double units_per_second,
                             std::optional<StallReason> limit) {
  RateChange change{.command = {},
                    .activity = flow.activity.value(),
                    .at = now(),
                    .units_per_second = units_per_second,
                    .limited_by = limit};
  if (flow.owner == Flow::Owner::crew) {
    const Crew& crew = crews_[flow.of];
    const RoleRun& role = roles_[crew.role_run];
    change.range = program_.roles[role.role].ranges.first + crew.range;
    change.ctas = static_cast<int>(crew.ctas);
  }
  change.command = compiled_.commands[command_of(flow)].ref;
  emit(change);
}

std::uint32_t Simulation::command_of(const Flow& flow) const {
  switch (flow.owner) {
    case Flow::Owner::transfer:
      return transfers_[flow.of].command;
    case Flow::Owner::crew:
      return runs_[roles_[crews_[flow.of].role_run].run].command;
    case Flow::Owner::gang:
      break;
  }
  return runs_[gang_runs_[flow.of].runs.front()].command;
}

}  // namespace weft::sim::engine
