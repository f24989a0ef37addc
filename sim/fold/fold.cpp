// SPDX-License-Identifier: Apache-2.0
#include "sim/fold.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/fold/apart.hpp"
#include "sim/fold/orbits.hpp"
#include "sim/program_builder.hpp"

namespace weft::sim {

namespace {

using namespace fold_detail;

/// Writes the machine and program of the first rank, every load counted on the first of its orbit.
class Folding {
 public:
  Folding(const Machine& machine, const Program& program, const RankView& view, const Group& group)
      : machine_(machine),
        program_(program),
        view_(view),
        group_(group),
        ranks_(static_cast<std::uint32_t>(view.ranks.size())),
        home_(home_of(0)),
        number_(machine.devices.size(), kUnmapped) {
    for (std::uint32_t i = 0; i < ranks_; ++i) number_[device_of(i)] = i;
    route_.assign(machine.routes.size(), kUnmapped);
    signal_.assign(program.signals.size(), kUnmapped);
  }

  /// Returns why it cannot be done; empty: done.
  std::string fold(Folded& out) {
    out_ = &out;
    copy_machine();
    match_signals();
    if (why_.empty()) copy_program();
    return why_;
  }

 private:
  [[nodiscard]] std::uint32_t device_of(std::uint32_t number) const {
    return machine_.ranks[view_.ranks[number].value()].device.value();
  }
  [[nodiscard]] std::uint32_t home_of(std::uint32_t number) const {
    return machine_.devices[device_of(number)].memory.value();
  }
  // The number of the rank whose memory this is.
  [[nodiscard]] std::uint32_t owner_of(MemoryId memory) const {
    const std::optional<DeviceId>& device = machine_.memories[memory.value()].device;
    return device ? number_[device->value()] : kUnmapped;
  }

  void copy_machine() {
    Machine& to = out_->machine;
    to.name = machine_.name;
    to.devices = machine_.devices;
    to.memories = machine_.memories;
    to.links = machine_.links;
    to.switches = machine_.switches;
    to.nics = machine_.nics;
    to.processes = machine_.processes;
    to.ranks = machine_.ranks;
    to.control = machine_.control;
    to.routes.clear();
    to.memory_orbits = orbits(group_.memories, machine_.memories.size());
    to.link_orbits = orbits(group_.links, machine_.links.size());
    to.switch_orbits = orbits(group_.switches, machine_.switches.size());
    // Signals of peers take their ways to the first rank.
    for (std::uint32_t id = 0; id < machine_.routes.size(); ++id) {
      const Route& route = machine_.routes[id];
      if (route.kind == Route::Kind::unicast &&
          (route.targets.front().value() == home_ || route.sources.front().value() == home_)) {
        fold_route(RouteId(id));
      }
    }
  }

  [[nodiscard]] std::vector<Orbit> orbits(const Orbits& of, std::size_t size) const {
    std::vector<Orbit> list(size);
    for (std::uint32_t id = 0; id < size; ++id) {
      list[id] = {.first = of.first(id), .images = ranks_ / of.size(id)};
    }
    return list;
  }

  RouteId fold_route(RouteId id) {
    std::uint32_t& folded = route_[id.value()];
    if (folded == kUnmapped) {
      folded = static_cast<std::uint32_t>(out_->machine.routes.size());
      out_->machine.routes.push_back(machine_.routes[id.value()]);
    }
    return RouteId(folded);
  }

  // Every rank's signals answer the first rank's, in the order in which calls and kernels name
  // them.
  void match_signals() {
    signals_of_.resize(ranks_);
    for (std::uint32_t i = 0; i < ranks_; ++i) {
      number_waiting_ = i;
      const std::uint32_t thread = view_.thread_of[i];
      if (thread != kUnmapped) list_signals(program_.threads[thread].commands);
    }
    if (!why_.empty()) return;
    for (std::uint32_t i = 0; i < ranks_; ++i) {
      for (std::size_t k = 0; k < signals_of_[i].size(); ++k) {
        const SignalId signal = signals_of_[i][k];
        if (signal_[signal.value()] != kUnmapped) continue;
        signal_[signal.value()] = signals_of_[0][k].value();
      }
    }
  }

  void list_signals(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      if (const auto* launch = std::get_if<Launch>(&command.call)) {
        const Kernel& kernel = program_.kernels[launch->kernel.value()];
        for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
          const Slice& ranges = program_.roles[kernel.roles.first + r].ranges;
          for (std::uint32_t k = 0; k < ranges.count; ++k) {
            const Slice& waits = program_.ranges[ranges.first + k].waits;
            for (std::uint32_t w = 0; w < waits.count; ++w) {
              list_signal(program_.waits[waits.first + w].signal);
            }
          }
        }
      } else if (const auto* wait = std::get_if<WaitSignal>(&command.call)) {
        list_signal(wait->wait.signal);
      } else if (const auto* graph = std::get_if<GraphLaunch>(&command.call)) {
        list_signals(program_.graphs[graph->graph.value()].commands);
      }
    }
  }

  void list_signal(SignalId signal) {
    if (owner_of(program_.signals[signal.value()].owner) != number_waiting_) {
      why_ = fmt::format("rank {} waits for signal {}, which is not in its own memory",
                         view_.ranks[number_waiting_].value(), signal.value());
    }
    signals_of_[number_waiting_].push_back(signal);
  }

  SignalPost fold_post(SignalPost post) {
    const std::uint32_t owner = owner_of(program_.signals[post.signal.value()].owner);
    const std::uint32_t folded = signal_[post.signal.value()];
    if (folded == kUnmapped || owner == kUnmapped) {
      // Nobody waits for it.
      return post;
    }
    post.signal = SignalId(folded);
    const std::uint32_t from = group_.to_first[owner];
    if (from != 0) post.from = DeviceId(device_of(from));
    return post;
  }

  void copy_program() {
    Program& to = out_->program;
    std::vector<HostThread> threads = std::exchange(to.threads, {});
    empty(to);
    to.labels = program_.labels;
    to.tags = program_.tags;
    to.events = program_.events;
    to.signals = program_.signals;
    stream_.assign(program_.streams.size(), kUnmapped);
    for (const std::uint32_t stream : view_.streams[0]) {
      stream_[stream] = static_cast<std::uint32_t>(to.streams.size());
      to.streams.push_back(program_.streams[stream]);
    }
    kernel_.assign(program_.kernels.size(), kUnmapped);
    graph_.assign(program_.graphs.size(), kUnmapped);
    gang_.assign(program_.gangs.size(), kUnmapped);
    const std::uint32_t thread = view_.thread_of[0];
    if (thread == kUnmapped) return;
    const HostThread& from = program_.threads[thread];
    HostThread& calls = to.threads.emplace_back(threads.empty() ? HostThread{from.process, {}}
                                                                : std::move(threads.front()));
    calls.process = from.process;
    fold_calls(from.commands, calls.commands);
  }

  void fold_calls(const std::vector<Command>& commands, std::vector<Command>& list) {
    list = commands;
    for (Command& command : list) {
      std::visit([this](auto& call) { renumber(call); }, command.call);
    }
  }

  template <class T>
  void renumber(T& call) {
    if constexpr (requires { call.stream; }) call.stream = StreamId(stream_[call.stream.value()]);
    if constexpr (requires { call.kernel; }) call.kernel = fold_kernel(call.kernel);
    if constexpr (requires { call.route; }) call.route = fold_route(call.route);
    if constexpr (requires { call.post.signal; }) call.post = fold_post(call.post);
    if constexpr (requires { call.graph; }) call.graph = fold_graph(call.graph);
  }

  GraphId fold_graph(GraphId id) {
    if (graph_[id.value()] == kUnmapped) {
      std::vector<Command> calls;
      fold_calls(program_.graphs[id.value()].commands, calls);
      graph_[id.value()] = static_cast<std::uint32_t>(out_->program.graphs.size());
      out_->program.graphs.push_back({std::move(calls)});
    }
    return GraphId(graph_[id.value()]);
  }

  KernelId fold_kernel(KernelId id) {
    if (kernel_[id.value()] != kUnmapped) return KernelId(kernel_[id.value()]);
    Program& to = out_->program;
    Kernel kernel = program_.kernels[id.value()];
    if (kernel.gang) {
      kernel.gang = fold_gang(*kernel.gang);
      kernel.gang_member = 0;
    } else {
      const Slice roles = kernel.roles;
      kernel.roles.first = static_cast<std::uint32_t>(to.roles.size());
      for (std::uint32_t r = 0; r < roles.count; ++r) {
        to.roles.push_back(program_.roles[roles.first + r]);
      }
      for (std::uint32_t r = 0; r < roles.count; ++r) {
        fold_ranges(to.roles[kernel.roles.first + r].ranges);
      }
    }
    kernel_[id.value()] = static_cast<std::uint32_t>(to.kernels.size());
    to.kernels.push_back(kernel);
    return KernelId(kernel_[id.value()]);
  }

  void fold_ranges(Slice& ranges) {
    Program& to = out_->program;
    const Slice from = std::exchange(
        ranges, {.first = static_cast<std::uint32_t>(to.ranges.size()), .count = ranges.count});
    for (std::uint32_t k = 0; k < from.count; ++k) {
      TileRange range = program_.ranges[from.first + k];
      range.traffic = fold_traffic(range.traffic);
      const Slice waits = range.waits;
      range.waits.first = static_cast<std::uint32_t>(to.waits.size());
      for (std::uint32_t w = 0; w < waits.count; ++w) {
        to.waits.push_back(program_.waits[waits.first + w]);
      }
      range.posts = fold_posts(range.posts);
      to.ranges.push_back(range);
    }
  }

  Slice fold_posts(const Slice& posts) {
    Program& to = out_->program;
    const Slice folded{.first = static_cast<std::uint32_t>(to.posts.size()), .count = posts.count};
    for (std::uint32_t p = 0; p < posts.count; ++p) {
      to.posts.push_back(fold_post(program_.posts[posts.first + p]));
    }
    return folded;
  }

  Slice fold_traffic(const Slice& traffic) {
    Program& to = out_->program;
    const auto first = static_cast<std::uint32_t>(to.traffic.size());
    for (std::uint32_t i = 0; i < traffic.count; ++i) {
      Traffic its = program_.traffic[traffic.first + i];
      if (its.on == Traffic::On::route) its.index = fold_route(RouteId(its.index)).value();
      to.traffic.push_back(its);
    }
    return {.first = first, .count = traffic.count};
  }

  // One member with the uses of all. Each rank is a member of one gang of the orbit: else the first
  // rank alone would not know when the others' begin.
  GangId fold_gang(GangId id) {
    if (gang_[id.value()] != kUnmapped) return GangId(gang_[id.value()]);
    Program& to = out_->program;
    Gang gang = program_.gangs[id.value()];
    if (group_.gangs.size(id.value()) * gang.members.count != ranks_) {
      why_ =
          fmt::format("gang {} and its images overlap: a rank is in several of them", id.value());
    }
    GangMember first = program_.gang_members[gang.members.first];
    Slice uses{.first = static_cast<std::uint32_t>(to.gang_uses.size()), .count = 0};
    for (std::uint32_t i = 0; i < gang.members.count; ++i) {
      const GangMember& member = program_.gang_members[gang.members.first + i];
      if (member.rank == view_.ranks[0]) first = member;
      const auto begin = program_.gang_uses.begin() + member.uses.first;
      to.gang_uses.insert(to.gang_uses.end(), begin, begin + member.uses.count);
      uses.count += member.uses.count;
    }
    first.uses = uses;
    gang.members_folded = gang.members.count;
    gang.members = {.first = static_cast<std::uint32_t>(to.gang_members.size()), .count = 1};
    to.gang_members.push_back(first);
    gang.posts = fold_gang_posts(program_.gangs[id.value()]);
    gang_[id.value()] = static_cast<std::uint32_t>(to.gangs.size());
    to.gangs.push_back(gang);
    return GangId(gang_[id.value()]);
  }

  // Of each chunk's posts those to the first rank; the others are its images. Where chunks differ in
  // how many those are all stay: nobody waits for the others' signals any more.
  Slice fold_gang_posts(const Gang& gang) {
    Program& to = out_->program;
    const std::vector<SignalPost> all(program_.posts.begin() + gang.posts.first,
                                      program_.posts.begin() + gang.posts.first + gang.posts.count);
    const auto ours = [&](const SignalPost& post) {
      return program_.signals[post.signal.value()].owner.value() == home_;
    };
    for (const SignalPost& post : all) {
      if (signal_[post.signal.value()] == kUnmapped) continue;
      const std::uint32_t owner = owner_of(program_.signals[post.signal.value()].owner);
      const bool member = owner != kUnmapped && is_member(gang, view_.ranks[owner]);
      if (!member) why_ = "a gang posts to a rank that is not its member";
    }
    const auto chunks = static_cast<std::size_t>(gang.chunks);
    const std::size_t each = all.size() / chunks;
    std::vector<std::size_t> kept(chunks, 0);
    for (std::size_t p = 0; p < each * chunks; ++p) kept[p / each] += ours(all[p]) ? 1U : 0U;
    const bool even = std::all_of(kept.begin(), kept.end(),
                                  [&](std::size_t count) { return count == kept.front(); });
    Slice folded{.first = static_cast<std::uint32_t>(to.posts.size()), .count = 0};
    for (const SignalPost& post : all) {
      if (even && !ours(post)) continue;
      to.posts.push_back(post);
      ++folded.count;
    }
    return folded;
  }

  [[nodiscard]] bool is_member(const Gang& gang, RankId rank) const {
    const auto* const first = program_.gang_members.data() + gang.members.first;
    return std::any_of(first, first + gang.members.count,
                       [&](const GangMember& member) { return member.rank == rank; });
  }

  const Machine& machine_;
  const Program& program_;
  const RankView& view_;
  const Group& group_;
  std::uint32_t ranks_;
  std::uint32_t home_;
  std::vector<std::uint32_t> number_;  // by device
  std::vector<std::uint32_t> route_;
  std::vector<std::uint32_t> signal_;
  std::vector<std::uint32_t> stream_;
  std::vector<std::uint32_t> kernel_;
  std::vector<std::uint32_t> graph_;
  std::vector<std::uint32_t> gang_;
  std::vector<std::vector<SignalId>> signals_of_;
  std::uint32_t number_waiting_ = 0;
  Folded* out_ = nullptr;
  std::string why_;
};

}  // namespace

Folded fold(const Machine& machine, const Program& program, Folded spent) {
  Folded folded = std::move(spent);
  const RankView view = view_ranks(machine, program);
  folded.refused = view.refused;
  if (folded.refused.empty() && view.ranks.size() < 2) folded.refused = "there is one rank";
  if (folded.refused.empty()) folded.refused = shared_by_ranks(machine, program, view);
  if (folded.refused.empty()) {
    const auto group = find_group(machine, program, view, folded.refused);
    if (group) {
      folded.refused = Folding(machine, program, view, *group).fold(folded);
      folded.ranks_folded = static_cast<int>(view.ranks.size());
    }
  }
  if (!folded.refused.empty()) {
    folded.machine = machine;
    folded.program = program;
    folded.ranks_folded = 1;
  }
  return folded;
}

}  // namespace weft::sim
