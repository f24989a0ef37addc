// SPDX-License-Identifier: Apache-2.0
// The program's half of a symmetry: call by call, kernel by kernel, in their own order.
#include <algorithm>

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
  if (calls_agree(program_.threads[t].commands, program_.threads[u].commands)) return true;
  return fail(fmt::format("the calls of ranks {} and {} differ", a, b));
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
  bool fresh = false;
  if (!kernels_.learn(a.value(), b.value(), fresh)) {
    // Ranks may launch kernels of their own where others share one.
    return a == b;
  }
  if (!fresh) return true;
  const Kernel& x = program_.kernels[a.value()];
  const Kernel& y = program_.kernels[b.value()];
  if (x.ctas != y.ctas || x.cluster != y.cluster || !(x.footprint == y.footprint) ||
      x.prologue != y.prologue || x.roles.count != y.roles.count ||
      x.gang.has_value() != y.gang.has_value() || x.trigger_after_tiles != y.trigger_after_tiles) {
    return false;
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
      a.posts_per_tile != b.posts_per_tile || a.fluid_time != b.fluid_time ||
      a.share_bytes != b.share_bytes) {
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
    for (std::uint32_t u = 0; u < mine.uses.count; ++u) {
      const GangUse& s = program_.gang_uses[mine.uses.first + u];
      const GangUse& t = program_.gang_uses[image->uses.first + u];
      bool same = s.on == t.on && s.numerator == t.numerator;
      if (same && s.on == GangUse::On::memory) same = memory(MemoryId(s.index), MemoryId(t.index));
      if (same && s.on == GangUse::On::link) same = link(s.index, t.index);
      if (same && s.on == GangUse::On::fabric_switch) same = fabric_switch(s.index, t.index);
      if (!same) return fail(fmt::format("the uses of gang {}'s members differ", a.value()));
    }
  }
  return true;
}

// In each chunk the images of the posts are the image's posts, in any order.
bool Symmetry::gang_posts_agree(GangId a, GangId b) {
  const Gang& x = program_.gangs[a.value()];
  const Gang& y = program_.gangs[b.value()];
  const std::uint32_t each = x.posts.count / static_cast<std::uint32_t>(x.chunks);
  for (std::uint32_t p = 0; p < x.posts.count; ++p) {
    const SignalPost& s = program_.posts[x.posts.first + p];
    if (!signals_.knows(s.signal.value())) continue;
    const std::uint32_t chunk = p / each;
    bool found = false;
    for (std::uint32_t q = chunk * each; q < (chunk + 1) * each && !found; ++q) {
      const SignalPost& t = program_.posts[y.posts.first + q];
      found =
          t.signal.value() == signals_(s.signal.value()) && t.kind == s.kind && t.value == s.value;
    }
    if (!found) return fail(fmt::format("the posts of gang {} differ", a.value()));
  }
  return true;
}

}  // namespace weft::sim::fold_detail
