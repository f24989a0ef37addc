// SPDX-License-Identifier: Apache-2.0
// The program's half of a symmetry: call by call, kernel by kernel, in their own order.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "sim/fold/symmetry.hpp"

namespace weft::sim::fold_detail {

bool Symmetry::threads_agree(std::uint32_t from, std::uint32_t to) {
  const std::vector<std::uint32_t>& mine = view_.streams[from];
  const std::vector<std::uint32_t>& theirs = view_.streams[to];
  const std::uint32_t a = view_.ranks[from].value();
  const std::uint32_t b = view_.ranks[to].value();
  bool fresh = false;
  if (mine.size() != theirs.size()) {
    return fail(
        fmt::format("ranks {} and {} have {} and {} streams", a, b, mine.size(), theirs.size()));
  }
  for (std::size_t i = 0; i < mine.size(); ++i) {
    streams_.learn(mine[i], theirs[i], fresh);
    if (program_.streams[mine[i]].priority != program_.streams[theirs[i]].priority) {
      return fail(fmt::format("streams {} and {} differ in priority", mine[i], theirs[i]));
    }
  }
  const std::uint32_t t = view_.thread_of[from];
  const std::uint32_t u = view_.thread_of[to];
  if ((t == kUnmapped) != (u == kUnmapped)) {
    return fail(fmt::format("one of ranks {} and {} makes no call", a, b));
  }
  if (t == kUnmapped) return true;
  const Process& p = machine_.processes[program_.threads[t].process.value()];
  const Process& q = machine_.processes[program_.threads[u].process.value()];
  if (p.launch_cost != q.launch_cost || p.graph_launch_cost != q.graph_launch_cost) {
    return fail(fmt::format("the host threads of ranks {} and {} differ", a, b));
  }
  if (!calls_agree(program_.threads[t].commands, program_.threads[u].commands)) {
    return fail(fmt::format("the calls of ranks {} and {} differ", a, b));
  }
  from_ = from;
  return ways_agree(program_.threads[t].commands);
}

// ---- ways of posts: as long as those of their images

bool Symmetry::ways_agree(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    bool same = true;
    if (const auto* post = std::get_if<Post>(&command.call)) same = way_agrees(post->post);
    if (const auto* message = std::get_if<Message>(&command.call)) same = way_agrees(message->post);
    if (const auto* launch = std::get_if<Launch>(&command.call)) {
      same = ways_of_kernel_agree(launch->kernel);
    }
    if (const auto* graph = std::get_if<GraphLaunch>(&command.call)) {
      same = ways_agree(program_.graphs[graph->graph.value()].commands);
    }
    if (!same) return false;
  }
  return true;
}

bool Symmetry::ways_of_kernel_agree(KernelId id) {
  looked_at_.resize(program_.kernels.size(), kUnmapped);
  if (looked_at_[id.value()] == from_) return true;
  looked_at_[id.value()] = from_;
  const Slice& roles = program_.kernels[id.value()].roles;
  for (std::uint32_t r = roles.first; r < roles.first + roles.count; ++r) {
    const Slice& ranges = program_.roles[r].ranges;
    for (std::uint32_t k = ranges.first; k < ranges.first + ranges.count; ++k) {
      if (!ways_of_posts_agree(program_.ranges[k].posts)) return false;
    }
  }
  return true;
}

bool Symmetry::ways_of_posts_agree(const Slice& posts) {
  for (std::uint32_t p = posts.first; p < posts.first + posts.count; ++p) {
    if (!way_agrees(program_.posts[p])) return false;
  }
  return true;
}

// The latency of the first route from each memory to each other; none where there is none.
void Symmetry::list_ways() {
  const std::size_t memories = machine_.memories.size();
  ways_.assign(memories * memories, std::nullopt);
  for (const Route& route : machine_.routes) {
    if (route.kind != Route::Kind::unicast) continue;
    auto& way = ways_[route.sources.front().value() * memories + route.targets.front().value()];
    if (!way) way = route.latency;
  }
}

bool Symmetry::way_agrees(const SignalPost& post) {
  const auto home = [&](std::uint32_t number) {
    return machine_.devices[machine_.ranks[view_.ranks[number].value()].device.value()].memory;
  };
  const MemoryId owner = program_.signals[post.signal.value()].owner;
  const MemoryId mine = home(from_);
  if (owner == mine) return true;
  if (ways_.empty()) list_ways();
  const std::size_t memories = machine_.memories.size();
  const auto way = [&](std::uint32_t a, std::uint32_t b) { return ways_[a * memories + b]; };
  if (way(mine.value(), owner.value()) ==
      way(home(ranks_[from_]).value(), memories_(owner.value()))) {
    return true;
  }
  return fail(fmt::format("the ways from rank {} to memory {} \"{}\" and from its image differ",
                          view_.ranks[from_].value(), owner.value(),
                          machine_.memories[owner.value()].name));
}

bool Symmetry::calls_agree(const std::vector<Command>& a, const std::vector<Command>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].call.index() != b[i].call.index()) return false;
    const bool same = std::visit(
        [&](const auto& call) {
          return agree(call, std::get<std::decay_t<decltype(call)>>(b[i].call));
        },
        a[i].call);
    if (!same) return false;
  }
  return true;
}

bool Symmetry::agree(const Launch& a, const Launch& b) {
  bool fresh = false;
  if (a.programmatic != b.programmatic || a.waits_for_predecessor != b.waits_for_predecessor ||
      a.launch_completion.has_value() != b.launch_completion.has_value()) {
    return false;
  }
  if (a.launch_completion &&
      !events_.learn(a.launch_completion->value(), b.launch_completion->value(), fresh)) {
    return false;
  }
  return streams_.learn(a.stream.value(), b.stream.value(), fresh) && kernel(a.kernel, b.kernel);
}

bool Symmetry::agree(const Copy& a, const Copy& b) {
  bool fresh = false;
  return a.engine == b.engine && a.bytes == b.bytes &&
         streams_.learn(a.stream.value(), b.stream.value(), fresh) && route(a.route, b.route);
}

bool Symmetry::agree(const Record& a, const Record& b) {
  bool fresh = false;
  return streams_.learn(a.stream.value(), b.stream.value(), fresh) &&
         events_.learn(a.event.value(), b.event.value(), fresh);
}

bool Symmetry::agree(const WaitEvent& a, const WaitEvent& b) {
  bool fresh = false;
  return streams_.learn(a.stream.value(), b.stream.value(), fresh) &&
         events_.learn(a.event.value(), b.event.value(), fresh);
}

bool Symmetry::agree(const WaitSignal& a, const WaitSignal& b) {
  bool fresh = false;
  return a.wait.at_least == b.wait.at_least &&
         streams_.learn(a.stream.value(), b.stream.value(), fresh) &&
         signal(a.wait.signal, b.wait.signal);
}

bool Symmetry::agree(const Post& a, const Post& b) {
  bool fresh = false;
  return streams_.learn(a.stream.value(), b.stream.value(), fresh) && post(a.post, b.post);
}

bool Symmetry::agree(const Message& a, const Message& b) {
  bool fresh = false;
  return a.queue_pair == b.queue_pair && a.bytes == b.bytes &&
         streams_.learn(a.stream.value(), b.stream.value(), fresh) && route(a.route, b.route) &&
         post(a.post, b.post);
}

bool Symmetry::agree(const HostWait& a, const HostWait& b) {
  bool fresh = false;
  return events_.learn(a.event.value(), b.event.value(), fresh);
}

bool Symmetry::agree(const HostDelay& a, const HostDelay& b) {
  return a.delay == b.delay;
}

bool Symmetry::agree(const GraphLaunch& a, const GraphLaunch& b) {
  bool fresh = false;
  if (!graphs_.learn(a.graph.value(), b.graph.value(), fresh)) return false;
  return !fresh || calls_agree(program_.graphs[a.graph.value()].commands,
                               program_.graphs[b.graph.value()].commands);
}

bool Symmetry::signal(SignalId a, SignalId b) {
  bool fresh = false;
  if (!signals_.learn(a.value(), b.value(), fresh)) {
    return fail(fmt::format("signal {} would have to be two signals", a.value()));
  }
  if (!fresh) return true;
  const Signal& x = program_.signals[a.value()];
  const Signal& y = program_.signals[b.value()];
  return x.initial == y.initial && memory(x.owner, y.owner);
}

bool Symmetry::post(const SignalPost& a, const SignalPost& b) {
  return a.kind == b.kind && a.value == b.value && !a.from && !b.from && signal(a.signal, b.signal);
}

bool Symmetry::kernel(KernelId a, KernelId b) {
  // Ranks may launch kernels of their own where others share one: what counts is what they hold.
  bool fresh = false;
  if (kernels_.learn(a.value(), b.value(), fresh) && !fresh) return true;
  const Kernel& x = program_.kernels[a.value()];
  const Kernel& y = program_.kernels[b.value()];
  if (x.ctas != y.ctas || x.cluster != y.cluster || !(x.footprint == y.footprint) ||
      x.prologue != y.prologue || x.roles.count != y.roles.count ||
      x.gang.has_value() != y.gang.has_value() || x.trigger_after_tiles != y.trigger_after_tiles) {
    return false;
  }
  if (machine_.control.launch_jitter.ps() > 0 && x.label != y.label) {
    return fail(fmt::format("kernels {} and {} have labels of their own, and so would their races",
                            a.value(), b.value()));
  }
  return x.gang ? gang(*x.gang, *y.gang) : roles(x, y);
}

bool Symmetry::roles(const Kernel& a, const Kernel& b) {
  for (std::uint32_t r = 0; r < a.roles.count; ++r) {
    const Role& x = program_.roles[a.roles.first + r];
    const Role& y = program_.roles[b.roles.first + r];
    if (x.scope != y.scope || x.purpose != y.purpose || x.order != y.order || x.ctas != y.ctas ||
        x.spin_issue_milli != y.spin_issue_milli || x.ranges.count != y.ranges.count) {
      return false;
    }
    for (std::uint32_t k = 0; k < x.ranges.count; ++k) {
      if (!range(program_.ranges[x.ranges.first + k], program_.ranges[y.ranges.first + k])) {
        return false;
      }
    }
  }
  return true;
}

bool Symmetry::range(const TileRange& a, const TileRange& b) {
  if (a.tiles != b.tiles || a.sm_time != b.sm_time || !(a.demand == b.demand) ||
      a.l2_bytes != b.l2_bytes || a.traffic.count != b.traffic.count ||
      a.waits.count != b.waits.count || a.posts.count != b.posts.count ||
      a.posts_per_tile != b.posts_per_tile || a.fluid_time != b.fluid_time) {
    return false;
  }
  for (std::uint32_t i = 0; i < a.traffic.count; ++i) {
    const Traffic& x = program_.traffic[a.traffic.first + i];
    const Traffic& y = program_.traffic[b.traffic.first + i];
    if (x.on != y.on || x.bytes != y.bytes || x.posted_write != y.posted_write) return false;
    const bool same = x.on == Traffic::On::memory ? memory(MemoryId(x.index), MemoryId(y.index))
                                                  : route(RouteId(x.index), RouteId(y.index));
    if (!same) return false;
  }
  for (std::uint32_t i = 0; i < a.waits.count; ++i) {
    const SignalWait& x = program_.waits[a.waits.first + i];
    const SignalWait& y = program_.waits[b.waits.first + i];
    if (x.at_least != y.at_least || x.run_ahead_stages != y.run_ahead_stages) return false;
    if (!signal(x.signal, y.signal)) return false;
  }
  for (std::uint32_t i = 0; i < a.posts.count; ++i) {
    if (!post(program_.posts[a.posts.first + i], program_.posts[b.posts.first + i])) return false;
  }
  return true;
}

// Members answer one another by their ranks.
bool Symmetry::gang(GangId a, GangId b) {
  bool fresh = false;
  if (!gangs_.learn(a.value(), b.value(), fresh)) {
    return fail(fmt::format("gang {} would have to be two gangs", a.value()));
  }
  if (!fresh) return true;
  const Gang& x = program_.gangs[a.value()];
  const Gang& y = program_.gangs[b.value()];
  if (x.bytes != y.bytes || x.cap != y.cap || x.start_latency != y.start_latency ||
      x.denominator != y.denominator || x.members.count != y.members.count ||
      x.chunks != y.chunks || x.posts.count != y.posts.count) {
    return false;
  }
  learn_links_of_ranks();
  for (std::uint32_t i = 0; i < x.members.count; ++i) {
    const GangMember& mine = program_.gang_members[x.members.first + i];
    const std::uint32_t device = devices_(machine_.ranks[mine.rank.value()].device.value());
    const GangMember* image = nullptr;
    for (std::uint32_t j = 0; j < y.members.count; ++j) {
      const GangMember& other = program_.gang_members[y.members.first + j];
      if (machine_.ranks[other.rank.value()].device.value() == device) image = &other;
    }
    if (image == nullptr || image->uses.count != mine.uses.count ||
        !(image->demand_per_cta == mine.demand_per_cta)) {
      return fail(fmt::format("the members of gang {} differ", a.value()));
    }
    if (gang_uses(mine, true) != gang_uses(*image, false)) {
      return fail(fmt::format("the uses of gang {}'s members differ", a.value()));
    }
  }
  return true;
}

// A member's uses, in an order that their own decides; `mapped`: their images.
std::vector<std::array<std::int64_t, 3>> Symmetry::gang_uses(const GangMember& member,
                                                             bool mapped) const {
  std::vector<std::array<std::int64_t, 3>> list;
  for (std::uint32_t u = 0; u < member.uses.count; ++u) {
    const GangUse& use = program_.gang_uses[member.uses.first + u];
    const IdMap& map = use.on == GangUse::On::memory ? memories_
                       : use.on == GangUse::On::link ? links_
                                                     : switches_;
    list.push_back(
        {static_cast<std::int64_t>(use.on), mapped ? map(use.index) : use.index, use.numerator});
  }
  std::sort(list.begin(), list.end());
  return list;
}

// In each chunk the images of the posts are the image's posts, in any order.
bool Symmetry::gang_posts_agree(GangId a, GangId b) {
  const Gang& x = program_.gangs[a.value()];
  const Gang& y = program_.gangs[b.value()];
  using Told = std::tuple<std::uint32_t, SignalPost::Kind, std::uint64_t>;
  const std::uint32_t each = x.posts.count / static_cast<std::uint32_t>(x.chunks);
  for (std::uint32_t begin = 0; begin < each * static_cast<std::uint32_t>(x.chunks);
       begin += each) {
    std::vector<Told> mine, theirs;
    for (std::uint32_t p = begin; p < begin + each; ++p) {
      const SignalPost& s = program_.posts[x.posts.first + p];
      const SignalPost& t = program_.posts[y.posts.first + p];
      // What nobody waits for may go anywhere.
      if (signals_.knows(s.signal.value())) {
        mine.emplace_back(signals_(s.signal.value()), s.kind, s.value);
      }
      if (signals_.is_image(t.signal.value()))
        theirs.emplace_back(t.signal.value(), t.kind, t.value);
    }
    std::sort(mine.begin(), mine.end());
    std::sort(theirs.begin(), theirs.end());
    if (mine != theirs) return fail(fmt::format("the posts of gang {} differ", a.value()));
  }
  return true;
}

}  // namespace weft::sim::fold_detail
