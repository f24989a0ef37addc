// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/deadlock.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace weft::sim::engine {

DeadlockReport::DeadlockReport(const Simulation& simulation) : s_(simulation) {
  list_state();
}

void DeadlockReport::list_state() {
  const std::vector<CompiledCommand>& commands = s_.compiled_.commands;
  is_left_.assign(commands.size(), false);
  run_of_.assign(commands.size(), kNone);
  colour_.assign(commands.size(), 0);
  record_of_.assign(s_.records_.size(), kNone);
  queue_head_.assign(s_.queues_.size(), kNone);
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    if (commands[i].op == Op::record) record_of_[commands[i].target] = i;
    if (commands[i].op == Op::launch && commands[i].extra != kNone) {
      record_of_[commands[i].extra] = i;
    }
  }
  for (std::uint32_t q = 0; q < s_.queues_.size(); ++q) {
    const HardwareQueue& queue = s_.compiled_.queues[q];
    for (std::uint32_t l = queue.first_lane; l < queue.first_lane + queue.lanes; ++l) {
      const QueueLane& lane = s_.compiled_.lanes[l];
      for (std::uint32_t p = s_.lane_position_[l]; p < lane.count; ++p) {
        const std::uint32_t command = s_.compiled_.queue_order[lane.first + p];
        is_left_[command] = true;
        if (queue_head_[q] == kNone) queue_head_[q] = command;
      }
    }
  }
  for (std::uint32_t slot = 0; slot < s_.runs_.size(); ++slot) {
    if (!s_.runs_.in_use(slot)) continue;
    run_of_[s_.runs_[slot].command] = slot;
    is_left_[s_.runs_[slot].command] = true;
  }
  for (std::uint32_t i = 0; i < commands.size(); ++i) {
    if (is_left_[i]) left_.push_back(i);
  }
}

std::string DeadlockReport::name(std::uint32_t index) const {
  const CompiledCommand& command = s_.compiled_.commands[index];
  static constexpr const char* kOps[] = {
      "launch", "copy", "record", "wait for an event", "wait for a signal", "post", "message"};
  std::string what = kOps[static_cast<std::size_t>(command.op)];
  if (command.op == Op::launch) {
    const std::uint32_t label = s_.program_.kernels[command.target].label.value();
    what = fmt::format("kernel \"{}\"", s_.program_.labels[label]);
  }
  std::string place = fmt::format("thread {}, call {}", command.ref.thread, command.ref.index);
  if (command.ref.in_graph > 0) place += fmt::format(", node {}", command.ref.in_graph - 1);
  return fmt::format("{} (rank {}, stream {}; {})", what, s_.compiled_.streams[command.stream].rank,
                     command.stream, place);
}

void DeadlockReport::needs_of(std::uint32_t command, std::vector<Need>& needs) const {
  if (run_of_[command] != kNone) return needs_of_run(run_of_[command], needs);
  const std::uint32_t queue = s_.compiled_.streams[s_.compiled_.commands[command].stream].queue;
  if (queue_head_[queue] == command) return needs_of_head(command, needs);
  needs.push_back({.waiter = command,
                   .on = queue_head_[queue],
                   .why = fmt::format("is behind it in hardware queue {}", queue)});
}

void DeadlockReport::needs_of_head(std::uint32_t index, std::vector<Need>& needs) const {
  const CompiledCommand& command = s_.compiled_.commands[index];
  if (!s_.segments_[command.segment].active) {
    const Segment& segment = s_.compiled_.segments[command.segment];
    needs.push_back({.waiter = index,
                     .on = record_of_[segment.waits_for],
                     .why = fmt::format("is not issued: thread {} waits in call {} for the event "
                                        "that it records",
                                        segment.thread, segment.host_wait.index)});
    return;
  }
  for (const std::uint32_t other : left_) {
    if (run_of_[other] == kNone || s_.compiled_.commands[other].stream != command.stream) continue;
    needs.push_back({.waiter = index, .on = other, .why = "follows it on its stream"});
    return;
  }
  if (command.op == Op::wait_event) {
    needs.push_back({.waiter = index,
                     .on = record_of_[command.target],
                     .why = "waits for the event that it records"});
  } else if (command.op == Op::wait_signal) {
    need_posters(index, SignalId(s_.compiled_.views[command.target].signal),
                 s_.views_[command.target].value, static_cast<std::uint64_t>(command.amount),
                 needs);
  }
}

void DeadlockReport::needs_of_run(std::uint32_t slot, std::vector<Need>& needs) const {
  const KernelRun& run = s_.runs_[slot];
  if (run.placed < run.ctas) need_sms(slot, needs);
  if (s_.program_.kernels[run.kernel].gang && run.placed == run.ctas) need_members(slot, needs);
  for (std::uint32_t index = 0; index < s_.crews_.size(); ++index) {
    if (!s_.crews_.in_use(index)) continue;
    const Crew& crew = s_.crews_[index];
    const RoleRun& role = s_.roles_[crew.role_run];
    if (role.run != slot) continue;
    if (crew.state != Crew::State::waiting && crew.state != Crew::State::confirming) continue;
    const std::uint32_t device = s_.compiled_.streams[run.stream].device;
    const Slice& ranges = s_.program_.roles[role.role].ranges;
    const bool any = std::find(role.parked.begin(), role.parked.end(), index) != role.parked.end();
    for (std::uint32_t number = 0; number < ranges.count; ++number) {
      const bool open = (!role.untaken.empty() && role.untaken[number] > 0) ||
                        std::find(role.empty.begin(), role.empty.end(), number) != role.empty.end();
      if (any ? !open : number != crew.range) continue;
      const Slice& waits = s_.program_.ranges[ranges.first + number].waits;
      for (std::uint32_t w = 0; w < waits.count; ++w) {
        const SignalWait& wait = s_.program_.waits[waits.first + w];
        const std::uint64_t value = s_.views_[s_.view_of(wait.signal, device)].value;
        if (value < wait.at_least) {
          need_posters(run.command, wait.signal, value, wait.at_least, needs);
        }
      }
    }
  }
}

bool DeadlockReport::posts(std::uint32_t index, SignalId signal) const {
  const CompiledCommand& command = s_.compiled_.commands[index];
  auto among = [&](const Slice& posts) {
    for (std::uint32_t p = 0; p < posts.count; ++p) {
      if (s_.program_.posts[posts.first + p].signal == signal) return true;
    }
    return false;
  };
  switch (command.op) {
    case Op::post:
      return s_.compiled_.posts[command.target].signal == signal.value();
    case Op::message:
      return s_.compiled_.posts[command.extra].signal == signal.value();
    case Op::launch: {
      const Kernel& kernel = s_.program_.kernels[command.target];
      if (kernel.gang) return among(s_.program_.gangs[kernel.gang->value()].posts);
      for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
        const Slice& ranges = s_.program_.roles[kernel.roles.first + r].ranges;
        for (std::uint32_t k = 0; k < ranges.count; ++k) {
          if (among(s_.program_.ranges[ranges.first + k].posts)) return true;
        }
      }
      return false;
    }
    default:
      return false;
  }
}

void DeadlockReport::need_posters(std::uint32_t command, SignalId signal, std::uint64_t value,
                                  std::uint64_t at_least, std::vector<Need>& needs) const {
  const std::string what =
      fmt::format("signal {} >= {} (it is {})", signal.value(), at_least, value);
  bool found = false;
  for (const std::uint32_t other : left_) {
    if (!posts(other, signal)) continue;
    needs.push_back(
        {.waiter = command, .on = other, .why = fmt::format("waits for {}, which it posts", what)});
    found = true;
  }
  if (!found) {
    needs.push_back({.waiter = command,
                     .on = {},
                     .why = fmt::format("waits for {}, and nothing that is left posts it", what)});
  }
}

void DeadlockReport::need_sms(std::uint32_t slot, std::vector<Need>& needs) const {
  const KernelRun& run = s_.runs_[slot];
  const Kernel& kernel = s_.program_.kernels[run.kernel];
  const Pool& pool = s_.pools_[run.pool];
  const int left = run.ctas - run.placed;
  const SmPool idle = s_.idle_pool(s_.machine_.ranks[s_.compiled_.streams[run.stream].rank]);
  if (idle.room(kernel.footprint, kernel.cluster, kernel.cluster) < kernel.cluster) {
    needs.push_back({.waiter = run.command,
                     .on = {},
                     .why = fmt::format("has clusters of {} CTAs, and an idle device has no GPC "
                                        "with room for one",
                                        kernel.cluster)});
    return;
  }
  for (std::uint32_t other = 0; other < s_.runs_.size(); ++other) {
    if (!s_.runs_.in_use(other) || s_.runs_[other].pool != run.pool) continue;
    const KernelRun& holder = s_.runs_[other];
    const int held = holder.placed - holder.ended;
    if (held == 0) continue;
    needs.push_back({.waiter = run.command,
                     .on = holder.command,
                     .why = fmt::format("finds no SM for {} of its {} CTAs, while it holds {} CTAs "
                                        "on device {}",
                                        left, run.ctas, held, pool.device),
                     .for_sms = other != slot});
  }
  if (!pool.pending.empty() && pool.pending.front() != slot) {
    needs.push_back({.waiter = run.command,
                     .on = s_.runs_[pool.pending.front()].command,
                     .why = "is behind it for SMs"});
  }
}

void DeadlockReport::need_members(std::uint32_t slot, std::vector<Need>& needs) const {
  const KernelRun& run = s_.runs_[slot];
  const GangRun& gang_run = s_.gang_runs_[run.gang];
  for (std::uint32_t member = 0; member < gang_run.runs.size(); ++member) {
    if (gang_run.runs[member] != kNone) continue;
    bool found = false;
    for (const std::uint32_t other : left_) {
      const CompiledCommand& command = s_.compiled_.commands[other];
      if (command.op != Op::launch) continue;
      const Kernel& kernel = s_.program_.kernels[command.target];
      if (!kernel.gang || kernel.gang->value() != gang_run.gang) continue;
      if (kernel.gang_member != member) continue;
      needs.push_back({.waiter = run.command,
                       .on = other,
                       .why = fmt::format("waits for member {} of its gang", member)});
      found = true;
      break;
    }
    if (!found) {
      needs.push_back(
          {.waiter = run.command,
           .on = {},
           .why = fmt::format("waits for member {} of its gang, which is not launched", member)});
    }
  }
}

// Walks until the path meets itself; says whether it did.
bool DeadlockReport::follow(std::uint32_t command) {
  colour_[command] = 1;
  std::vector<Need> needs;
  needs_of(command, needs);
  for (const Need& need : needs) {
    path_.push_back(need);
    if (!need.on) {
      dead_ends_.push_back(need);
    } else if (colour_[*need.on] == 1) {
      const auto start = std::find_if(path_.begin(), path_.end(),
                                      [&](const Need& step) { return step.waiter == *need.on; });
      // A kernel that waits for SMs which it holds itself is no answer.
      if (path_.end() - start > 1) {
        cycle_.assign(start, path_.end());
        return true;
      }
    } else if (colour_[*need.on] == 0 && is_left_[*need.on]) {
      if (follow(*need.on)) return true;
    }
    path_.pop_back();
  }
  colour_[command] = 2;
  return false;
}

// The SMs to leave free so that the poster fits beside whoever holds them.
std::string DeadlockReport::margin(std::uint32_t poster) const {
  const KernelRun& run = s_.runs_[run_of_[poster]];
  const Kernel& kernel = s_.program_.kernels[run.kernel];
  const Rank& rank = s_.machine_.ranks[s_.compiled_.streams[run.stream].rank];
  SmPool pool = s_.idle_pool(rank);
  if (pool.place(kernel.footprint, kernel.cluster, run.ctas, 0) < run.ctas) {
    return fmt::format("no margin breaks it: {} never finds room for its {} CTAs at once\n",
                       name(poster), run.ctas);
  }
  int sms = 0;
  for (const SmGroup& group : pool.groups()) sms += group.held > 0 ? group.sms : 0;
  std::string text;
  for (const Need& need : cycle_) {
    if (need.waiter != poster || !need.for_sms) continue;
    const KernelRun& holder = s_.runs_[run_of_[*need.on]];
    const Kernel& its = s_.program_.kernels[holder.kernel];
    const int room = pool.room(its.footprint, its.cluster, holder.ctas);
    text += fmt::format("a margin of {} SMs breaks it: {} with at most {} CTAs\n", sms,
                        name(*need.on), room);
  }
  return text;
}

std::string DeadlockReport::text() {
  std::string text = fmt::format("deadlock at {} ps: {} commands wait and nothing can run\n",
                                 s_.now_, left_.size());
  for (const std::uint32_t command : left_) {
    if (colour_[command] == 0 && follow(command)) break;
    path_.clear();
  }
  const std::vector<Need>& lines = cycle_.empty() ? dead_ends_ : cycle_;
  text += cycle_.empty() ? "it waits for what never comes:\n" : "the cycle:\n";
  for (const Need& need : lines) {
    text += fmt::format("  {} {}", name(need.waiter), need.why);
    if (need.on) text += fmt::format(": {}", name(*need.on));
    text += '\n';
  }
  for (const Need& need : cycle_) {
    if (need.for_sms) text += margin(need.waiter);
  }
  return text;
}

std::string Simulation::describe_deadlock() const {
  return DeadlockReport(*this).text();
}

}  // namespace weft::sim::engine
