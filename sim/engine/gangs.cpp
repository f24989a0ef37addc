// SPDX-License-Identifier: Apache-2.0
// Gangs: a collective whose members move together.
//
//   start = every member's CTAs are resident + start latency
//   end   = start + bytes at the rate that the slowest member allows; at the same moment everywhere
//
// One flow with the uses of all members: its share at a resource weighs as many CTAs as a member
// has. The n-th launch of each member is of the n-th run of the gang.
#include <algorithm>
#include <utility>

#include "sim/engine/simulation.hpp"
#include "sim/units/integer.hpp"

namespace weft::sim::engine {

void Simulation::join_gang(std::uint32_t slot) {
  KernelRun& run = runs_[slot];
  const Kernel& kernel = program_.kernels[run.kernel];
  const std::uint32_t gang = kernel.gang->value();
  const std::uint32_t members = program_.gangs[gang].members.count;
  std::vector<std::uint32_t>& open = gang_open_[gang];
  std::size_t at = 0;
  while (at < open.size() && gang_runs_[open[at]].runs[kernel.gang_member] != kNone) ++at;
  if (at == open.size()) {
    const std::uint32_t fresh = gang_runs_.take();
    GangRun& made = gang_runs_[fresh];
    made.gang = gang;
    made.arrived = 0;
    made.flow = kNone;
    made.chunk = 0;
    made.moving = false;
    made.runs.assign(members, kNone);
    open.push_back(fresh);
  }
  const std::uint32_t index = open[at];
  GangRun& gang_run = gang_runs_[index];
  gang_run.runs[kernel.gang_member] = slot;
  run.gang = index;
  if (++gang_run.arrived < members) return;
  open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
  after(sync(program_.gangs[gang].start_latency), run.command, 0,
        {.what = What::gang_start, .of = index});
}

void Simulation::gang_start(std::uint32_t index) {
  GangRun& gang_run = gang_runs_[index];
  const Gang& gang = program_.gangs[gang_run.gang];
  gang_run.moving = true;
  gang_run.since = now_;
  if (recording()) gang_stalls(gang_run);
  if (gang.bytes.count() == 0 || !options_.effects.transport) {
    for (int chunk = 0; chunk < gang.chunks; ++chunk) post_chunk(gang_run, chunk);
    return end_gang(index);
  }
  const ActivityId activity = shares_.add(gang_demand(gang_run));
  const std::uint32_t command = runs_[gang_run.runs.front()].command;
  gang_run.flow =
      start_flow(Flow::Owner::gang, index, activity, static_cast<std::uint64_t>(gang.bytes.count()),
                 key(now_, Phase::finish, command, 0));
  flows_[gang_run.flow].rest = rest_after(gang, 0);
}

// The uses of all members; on contended SMs a CTA's demand is that at the gang's own cap.
Demand Simulation::gang_demand(const GangRun& gang_run) {
  const Gang& gang = program_.gangs[gang_run.gang];
  const UseList& uses = compiled_.gang_uses[gang_run.gang];
  Demand demand;
  demand.denominator = uses.denominator;
  demand.cap = uses.cap;
  const auto* const first = compiled_.uses.data() + uses.first;
  scratch_uses_.assign(first, first + uses.count);
  int most = 1;
  for (const std::uint32_t slot : gang_run.runs) {
    const KernelRun& run = runs_[slot];
    most = std::max(most, run.ctas);
    if (!shares_sms_) continue;
    const SmDemand& its = program_.gang_members[member_of(run)].demand_per_cta;
    const std::int64_t milli[] = {its.tensor_milli, its.issue_milli, its.load_store_milli};
    for (const std::uint32_t batch : run.batches) {
      const SmClass* const its_class = class_of(batch);
      if (its_class == nullptr) continue;
      for (std::size_t pipe = 0; pipe < kPipes; ++pipe) {
        if (its_class->pipe[pipe] == kNone || milli[pipe] == 0) continue;
        const Int128 amount =
            Int128{milli[pipe]} * batches_[batch].ctas * kPicosecondsPerSecond * gang.denominator;
        scratch_uses_.push_back(
            {ResourceId(its_class->pipe[pipe]),
             static_cast<std::uint64_t>(divide_up(amount, gang.cap.bytes_per_second()))});
      }
    }
  }
  demand.uses = scratch_uses_;
  demand.weight = static_cast<std::uint64_t>(most) * kCtaWeight;
  return demand;
}

void Simulation::rebind_gang(std::uint32_t index) {
  GangRun& gang_run = gang_runs_[index];
  Flow& flow = flows_[gang_run.flow];
  if (recording()) rate_change(flow, 0, std::nullopt);
  flow_of_[flow.activity.value()] = kNone;
  shares_.remove(flow.activity);
  attach(gang_run.flow, shares_.add(gang_demand(gang_run)));
}

// Bytes that are left once chunk `chunk` is through: chunk i ends at bytes x (i + 1) / chunks.
std::uint64_t Simulation::rest_after(const Gang& gang, int chunk) const {
  const Int128 through = Int128{gang.bytes.count()} * (chunk + 1) / gang.chunks;
  return static_cast<std::uint64_t>(gang.bytes.count() - static_cast<std::int64_t>(through));
}

void Simulation::post_chunk(const GangRun& gang_run, int chunk) {
  const Gang& gang = program_.gangs[gang_run.gang];
  const std::uint32_t each = gang.posts.count / static_cast<std::uint32_t>(gang.chunks);
  for (std::uint32_t p = 0; p < each; ++p) {
    const SignalPost& its =
        program_.posts[gang.posts.first + static_cast<std::uint32_t>(chunk) * each + p];
    post(its, runs_[poster_of(gang_run, its.signal)].command, 1);
  }
}

// The member in whose memory the signal lives posts it; the first one, if it is nobody's.
std::uint32_t Simulation::poster_of(const GangRun& gang_run, SignalId signal) const {
  const std::optional<DeviceId>& owner =
      machine_.memories[program_.signals[signal.value()].owner.value()].device;
  for (const std::uint32_t run : gang_run.runs) {
    if (owner && owner->value() == compiled_.streams[runs_[run].stream].device) return run;
  }
  return gang_run.runs.front();
}

void Simulation::gang_progress(std::uint32_t index) {
  GangRun& gang_run = gang_runs_[index];
  const Gang& gang = program_.gangs[gang_run.gang];
  post_chunk(gang_run, gang_run.chunk);
  if (++gang_run.chunk < gang.chunks) {
    Flow& flow = flows_[gang_run.flow];
    flow.rest = rest_after(gang, gang_run.chunk);
    schedule_flow(flow);
    return;
  }
  const ActivityId activity = flows_[gang_run.flow].activity;
  stop_flow(std::exchange(gang_run.flow, kNone));
  shares_.remove(activity);
  end_gang(index);
}

void Simulation::end_gang(std::uint32_t index) {
  GangRun& gang_run = gang_runs_[index];
  ++activities_;
  for (const std::uint32_t slot : gang_run.runs) {
    KernelRun& run = runs_[slot];
    if (recording()) gang_spans(gang_run, run);
    for (const std::uint32_t batch : run.batches) {
      end_of_grid(slot, batch, batches_[batch].ctas);
    }
  }
  gang_runs_.give_back(index);
}

// ---- records

std::uint32_t Simulation::member_of(const KernelRun& run) const {
  const Kernel& kernel = program_.kernels[run.kernel];
  return program_.gangs[kernel.gang->value()].members.first + kernel.gang_member;
}

void Simulation::gang_stalls(const GangRun& gang_run) {
  for (const std::uint32_t slot : gang_run.runs) {
    const KernelRun& run = runs_[slot];
    for (const std::uint32_t batch : run.batches) {
      Stall waiting{.command = compiled_.commands[run.command].ref,
                    .role = member_of(run),
                    .reason = StallReason::no_sm,
                    .start = TimePoint::from_ps(run.ready),
                    .end = TimePoint::from_ps(batches_[batch].since),
                    .ctas = batches_[batch].ctas};
      if (waiting.end > waiting.start) emit(waiting);
      waiting.reason = StallReason::gang;
      waiting.start = waiting.end;
      waiting.end = now();
      if (waiting.end > waiting.start) emit(waiting);
    }
  }
}

void Simulation::gang_spans(const GangRun& gang_run, const KernelRun& run) {
  const std::uint32_t member = member_of(run);
  for (const std::uint32_t batch : run.batches) {
    if (now_ > gang_run.since) {
      emit(CohortSpan{.command = compiled_.commands[run.command].ref,
                      .rank = RankId(compiled_.streams[run.stream].rank),
                      .role = member,
                      .range = gang_run.gang,
                      .ctas = batches_[batch].ctas,
                      .start = TimePoint::from_ps(gang_run.since),
                      .end = now()});
    }
    residency_span(run, member, batch, batches_[batch].ctas);
  }
}

}  // namespace weft::sim::engine
