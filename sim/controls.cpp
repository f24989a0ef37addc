// SPDX-License-Identifier: Apache-2.0
#include "sim/controls.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace weft::sim {

namespace {

bool computes(const Program& program, const Kernel& kernel) {
  if (kernel.gang) return false;
  for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
    if (program.roles[kernel.roles.first + r].purpose == Purpose::compute) return true;
  }
  return false;
}

/// Rewrites calls for A_s, list by list.
class ComputeCalls {
 public:
  ComputeCalls(const Program& program, const std::vector<bool>& kept)
      : kept_(kept), computing_(program.streams.size(), false), behind_(program.streams.size()) {
    auto note = [&](const std::vector<Command>& commands) {
      for (const Command& command : commands) {
        const auto* launch = std::get_if<Launch>(&command.call);
        if (launch != nullptr && kept[launch->kernel.value()]) {
          computing_[launch->stream.value()] = true;
        }
      }
    };
    for (const HostThread& thread : program.threads) note(thread.commands);
    for (const Graph& graph : program.graphs) note(graph.commands);
  }

  std::vector<Command> rewrite(const std::vector<Command>& commands) {
    out_.clear();
    for (const Command& command : commands) {
      command_ = &command;
      std::visit([this](const auto& call) { take(call); }, command.call);
    }
    return std::move(out_);
  }

 private:
  // The latest computing event of each computing stream.
  using Behind = std::map<std::uint32_t, EventId>;

  void keep() { out_.push_back(*command_); }
  void put(Call call) {
    out_.push_back({.call = call, .label = command_->label, .tag = command_->tag});
  }

  void record(StreamId stream, EventId event) {
    if (computing_[stream.value()]) {
      recorded_.insert_or_assign(event.value(), Behind{{stream.value(), event}});
    } else {
      recorded_.insert_or_assign(event.value(), behind_[stream.value()]);
    }
  }

  void take(const Launch& launch) {
    if (launch.launch_completion) record(launch.stream, *launch.launch_completion);
    if (kept_[launch.kernel.value()]) keep();
  }
  void take(const Copy&) {}
  void take(const Message&) {}
  void take(const Post&) {}
  void take(const WaitSignal&) {}
  void take(const Record& call) {
    record(call.stream, call.event);
    if (computing_[call.stream.value()]) keep();
  }
  void take(const WaitEvent& call) {
    const auto found = recorded_.find(call.event.value());
    if (found == recorded_.end()) return;
    if (!computing_[call.stream.value()]) {
      for (const auto& [stream, event] : found->second) {
        behind_[call.stream.value()].insert_or_assign(stream, event);
      }
      return;
    }
    for (const auto& [stream, event] : found->second) {
      if (stream != call.stream.value()) put(WaitEvent{.stream = call.stream, .event = event});
    }
  }
  void take(const HostWait& call) {
    const auto found = recorded_.find(call.event.value());
    if (found == recorded_.end()) return;
    for (const auto& [stream, event] : found->second) put(HostWait{.event = event});
  }
  void take(const HostDelay&) { keep(); }
  void take(const GraphLaunch&) { keep(); }

  const std::vector<bool>& kept_;
  std::vector<bool> computing_;
  std::vector<Behind> behind_;  // by communicating stream
  std::map<std::uint32_t, Behind> recorded_;
  std::vector<Command> out_;
  const Command* command_ = nullptr;
};

// Leaves only the computing roles of a kernel, and its grid without the others' CTAs.
void keep_computing_roles(Program& program, Kernel& kernel) {
  const Slice all = kernel.roles;
  int out = 0;
  std::vector<Role> kept;
  for (std::uint32_t r = 0; r < all.count; ++r) {
    const Role& role = program.roles[all.first + r];
    if (role.purpose == Purpose::compute) {
      kept.push_back(role);
    } else if (role.scope == Role::Scope::ctas) {
      out += role.ctas;
    }
  }
  if (kept.size() == all.count) return;
  if (kernel.ctas > 0) {
    kernel.ctas -= out;
    // What is left of the grid need not be whole clusters.
    if (kernel.ctas % kernel.cluster != 0) kernel.cluster = 1;
  }
  kernel.roles = {.first = static_cast<std::uint32_t>(program.roles.size()),
                  .count = static_cast<std::uint32_t>(kept.size())};
  program.roles.insert(program.roles.end(), kept.begin(), kept.end());
}

// Leaves of a range's traffic what is (or is not) over a route.
void keep_traffic(Program& program, TileRange& range, Traffic::On on) {
  const Slice all = range.traffic;
  const auto first = static_cast<std::uint32_t>(program.traffic.size());
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < all.count; ++i) {
    kept += program.traffic[all.first + i].on == on ? 1U : 0U;
  }
  if (kept == all.count) return;
  for (std::uint32_t i = 0; i < all.count && kept > 0; ++i) {
    const Traffic traffic = program.traffic[all.first + i];
    if (traffic.on == on) program.traffic.push_back(traffic);
  }
  range.traffic = {.first = first, .count = kept};
}

}  // namespace

Program without_communication(const Program& program) {
  Program out = program;
  std::vector<bool> kept(program.kernels.size(), false);
  for (std::size_t i = 0; i < out.kernels.size(); ++i) {
    kept[i] = computes(program, out.kernels[i]);
    if (kept[i]) keep_computing_roles(out, out.kernels[i]);
  }
  for (TileRange& range : out.ranges) {
    range.waits = {};
    range.posts = {};
    range.posts_per_tile = false;
    keep_traffic(out, range, Traffic::On::memory);
  }
  ComputeCalls calls(program, kept);
  for (std::size_t i = 0; i < out.graphs.size(); ++i) {
    out.graphs[i].commands = calls.rewrite(program.graphs[i].commands);
  }
  for (std::size_t i = 0; i < out.threads.size(); ++i) {
    out.threads[i].commands = calls.rewrite(program.threads[i].commands);
  }
  return out;
}

Program without_compute(const Program& program) {
  Program out = program;
  for (Kernel& kernel : out.kernels) {
    if (!computes(program, kernel)) continue;
    kernel.prologue = Duration();
    for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
      const Role& role = program.roles[kernel.roles.first + r];
      if (role.purpose != Purpose::compute) continue;
      for (std::uint32_t k = 0; k < role.ranges.count; ++k) {
        TileRange& range = out.ranges[role.ranges.first + k];
        range.sm_time = Duration();
        range.fluid_time = Duration();
        range.demand = {};
        range.l2_bytes = Bytes();
        keep_traffic(out, range, Traffic::On::route);
      }
    }
  }
  return out;
}

}  // namespace weft::sim
