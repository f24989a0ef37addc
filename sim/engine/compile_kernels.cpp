// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/compile_kernels.hpp"

#include <algorithm>
#include <numeric>

#include "sim/engine/resources.hpp"
#include "sim/units/check.hpp"

namespace weft::sim::engine {

void add_view(const Program& program, SignalId signal, std::uint32_t device, Compiled& compiled) {
  WEFT_CHECK(signal.value() < program.signals.size(), "there is no signal {}", signal.value());
  std::uint32_t* link = &compiled.signal_view[signal.value()];
  while (*link != kNone) {
    SignalView& view = compiled.views[*link];
    if (view.device == device) return;
    link = &view.next;
  }
  *link = static_cast<std::uint32_t>(compiled.views.size());
  compiled.views.push_back({.signal = signal.value(), .device = device});
}

namespace {

void check_slice(const Slice& slice, std::size_t size, const char* what, std::uint32_t owner) {
  WEFT_CHECK(std::size_t{slice.first} + slice.count <= size,
             "{} of kernel or gang {} lie outside of the program's", what, owner);
}

class KernelCompiler {
 public:
  KernelCompiler(const Machine& machine, const Program& program, const Effects& effects,
                 Compiled& out)
      : machine_(machine),
        program_(program),
        effects_(effects),
        out_(out),
        collector_(machine, effects, out) {}

  void compile() {
    for (std::uint32_t i = 0; i < program_.signals.size(); ++i) {
      WEFT_CHECK(program_.signals[i].owner.value() < machine_.memories.size(),
                 "signal {} lives in memory {}, which does not exist", i,
                 program_.signals[i].owner.value());
    }
    out_.range_begin.assign(program_.ranges.size(), 0);
    out_.role_tiles.assign(program_.roles.size(), 0);
    if (!program_.traffic.empty()) out_.range_uses.assign(program_.ranges.size(), kNone);
    in_cta_.assign(program_.signals.size(), kNone);
    for (std::uint32_t i = 0; i < program_.kernels.size(); ++i) check_kernel(i);
    for (std::uint32_t i = 0; i < program_.gangs.size(); ++i) check_gang(i);
    compile_views();
    compile_legs();
    out_.signal_in_cta.assign(program_.signals.size(), 0);
    for (std::size_t i = 0; i < in_cta_.size(); ++i) {
      out_.signal_in_cta[i] = in_cta_[i] != kNone && in_cta_[i] != kMixed ? 1 : 0;
    }
  }

 private:
  static constexpr std::uint32_t kMixed = kNone - 1;

  void check_kernel(std::uint32_t index) {
    const Kernel& kernel = program_.kernels[index];
    WEFT_CHECK(kernel.cluster >= 1, "kernel {} has clusters of {} CTAs", index, kernel.cluster);
    WEFT_CHECK(kernel.ctas % kernel.cluster == 0, "kernel {} has {} CTAs in clusters of {}", index,
               kernel.ctas, kernel.cluster);
    WEFT_CHECK(kernel.prologue.ps() >= 0, "kernel {} has a prologue of {} ps", index,
               kernel.prologue.ps());
    if (kernel.gang) {
      WEFT_CHECK(kernel.gang->value() < program_.gangs.size(), "kernel {} is of gang {}", index,
                 kernel.gang->value());
      WEFT_CHECK(kernel.gang_member < program_.gangs[kernel.gang->value()].members.count,
                 "kernel {} is member {} of a gang of {}", index, kernel.gang_member,
                 program_.gangs[kernel.gang->value()].members.count);
      WEFT_CHECK(kernel.roles.count == 0, "kernel {} is of a gang and has roles of its own", index);
      WEFT_CHECK(kernel.ctas > 0, "kernel {} has {} CTAs", index, kernel.ctas);
      return;
    }
    check_slice(kernel.roles, program_.roles.size(), "roles", index);
    WEFT_CHECK(kernel.roles.count > 0, "kernel {} has neither roles nor a gang", index);
    std::int64_t in_roles = 0;
    bool scoped = false;
    for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
      const std::uint32_t role = kernel.roles.first + r;
      compile_role(index, role);
      if (program_.roles[role].scope == Role::Scope::ctas) {
        scoped = true;
        in_roles += program_.roles[role].order == TileOrder::one_cta_per_tile
                        ? out_.role_tiles[role]
                        : program_.roles[role].ctas;
      } else {
        WEFT_CHECK(program_.roles[role].order != TileOrder::one_cta_per_tile || kernel.ctas > 0,
                   "kernel {} has one CTA a tile of a warp group", index);
      }
    }
    const bool by_tiles = kernel.ctas == 0;
    WEFT_CHECK(!by_tiles || scoped, "kernel {} has no CTAs", index);
    WEFT_CHECK(by_tiles || !scoped || in_roles == kernel.ctas,
               "kernel {} has {} CTAs and its roles have {}", index, kernel.ctas, in_roles);
  }

  void compile_role(std::uint32_t kernel, std::uint32_t index) {
    const Role& role = program_.roles[index];
    check_slice(role.ranges, program_.ranges.size(), "ranges", kernel);
    WEFT_CHECK(role.order == TileOrder::one_cta_per_tile || role.ctas > 0 ||
                   role.scope == Role::Scope::warp_group,
               "role {} of kernel {} has {} CTAs", index, kernel, role.ctas);
    std::int64_t tile = 0;
    for (std::uint32_t k = 0; k < role.ranges.count; ++k) {
      const std::uint32_t at = role.ranges.first + k;
      const TileRange& range = program_.ranges[at];
      WEFT_CHECK(range.tiles >= 0 && range.sm_time.ps() >= 0 &&
                     range.fluid_time.value_or(Duration()).ps() >= 0,
                 "range {} of kernel {} has {} tiles of {} ps", at, kernel, range.tiles,
                 range.sm_time.ps());
      out_.range_begin[at] = tile;
      tile += range.tiles;
      if (range.traffic.count > 0) compile_traffic(kernel, at, range);
      note_signals(kernel, role, range);
    }
    out_.role_tiles[index] = tile;
    if (role.order != TileOrder::one_cta_per_tile || tile > 0) return;
    for (std::uint32_t k = 0; k < role.ranges.count; ++k) {
      WEFT_CHECK(program_.ranges[role.ranges.first + k].posts.count == 0,
                 "range {} of kernel {} posts, and its role has one CTA a tile and no tile",
                 role.ranges.first + k, kernel);
    }
  }

  void compile_traffic(std::uint32_t kernel, std::uint32_t at, const TileRange& range) {
    check_slice(range.traffic, program_.traffic.size(), "traffic", kernel);
    std::uint64_t denominator = 1;
    for (std::uint32_t i = 0; i < range.traffic.count; ++i) {
      const Traffic& traffic = program_.traffic[range.traffic.first + i];
      WEFT_CHECK(traffic.bytes.count() >= 0, "range {} moves {} bytes", at, traffic.bytes.count());
      if (traffic.on == Traffic::On::memory) continue;
      WEFT_CHECK(traffic.index < machine_.routes.size(), "range {} takes route {} of {}", at,
                 traffic.index, machine_.routes.size());
      denominator = std::lcm(
          denominator, static_cast<std::uint64_t>(machine_.routes[traffic.index].denominator));
    }
    collector_.clear(denominator);
    std::uint64_t moved = 0;
    for (std::uint32_t i = 0; i < range.traffic.count; ++i) {
      const Traffic& traffic = program_.traffic[range.traffic.first + i];
      const auto bytes = static_cast<std::uint64_t>(traffic.bytes.count());
      moved += bytes;
      if (traffic.on == Traffic::On::memory) {
        collector_.memory(MemoryId(traffic.index), bytes * denominator);
      } else {
        collector_.route(machine_.routes[traffic.index], bytes);
      }
    }
    out_.range_uses[at] = static_cast<std::uint32_t>(out_.use_lists.size());
    out_.use_lists.push_back(collector_.finish());
    out_.use_lists.back().counts_as = std::max<std::uint64_t>(1, moved);
  }

  void note_signals(std::uint32_t kernel, const Role& role, const TileRange& range) {
    if (range.waits.count == 0 && range.posts.count == 0) return;
    check_slice(range.waits, program_.waits.size(), "waits", kernel);
    check_slice(range.posts, program_.posts.size(), "posts", kernel);
    const std::uint32_t where = role.scope == Role::Scope::warp_group ? kernel : kMixed;
    auto note = [&](SignalId signal) {
      WEFT_CHECK(signal.value() < program_.signals.size(), "there is no signal {}", signal.value());
      std::uint32_t& seen = in_cta_[signal.value()];
      seen = seen == kNone || seen == where ? where : kMixed;
    };
    for (std::uint32_t i = 0; i < range.waits.count; ++i) {
      note(program_.waits[range.waits.first + i].signal);
    }
    for (std::uint32_t i = 0; i < range.posts.count; ++i) {
      const SignalPost& post = program_.posts[range.posts.first + i];
      note(post.signal);
      if (post.from) in_cta_[post.signal.value()] = kMixed;
    }
  }

  void check_gang(std::uint32_t index) {
    const Gang& gang = program_.gangs[index];
    check_slice(gang.members, program_.gang_members.size(), "members", index);
    check_slice(gang.posts, program_.posts.size(), "posts", index);
    WEFT_CHECK(gang.members.count > 0, "gang {} has no members", index);
    WEFT_CHECK(gang.chunks >= 1 && gang.posts.count % static_cast<std::uint32_t>(gang.chunks) == 0,
               "gang {} has {} posts for {} chunks", index, gang.posts.count, gang.chunks);
    WEFT_CHECK(gang.bytes.count() >= 0 && gang.cap.bytes_per_second() > 0 && gang.denominator > 0 &&
                   gang.start_latency.ps() >= 0 && gang.members_folded >= 1,
               "gang {} moves {} bytes at up to {} bytes a second", index, gang.bytes.count(),
               gang.cap.bytes_per_second());
    for (std::uint32_t i = 0; i < gang.members.count; ++i) {
      const GangMember& member = program_.gang_members[gang.members.first + i];
      WEFT_CHECK(member.rank.value() < machine_.ranks.size(), "gang {} has a member on rank {}",
                 index, member.rank.value());
      check_slice(member.uses, program_.gang_uses.size(), "uses", index);
    }
    collector_.clear(static_cast<std::uint64_t>(gang.denominator));
    collector_.limit({static_cast<std::uint64_t>(gang.cap.bytes_per_second()), 1});
    for (std::uint32_t i = 0; i < gang.members.count; ++i) {
      const Slice& uses = program_.gang_members[gang.members.first + i].uses;
      for (std::uint32_t u = 0; u < uses.count; ++u) {
        charge_gang(index, program_.gang_uses[uses.first + u]);
      }
    }
    out_.gang_uses.push_back(collector_.finish(static_cast<std::uint64_t>(gang.members_folded)));
    for (std::uint32_t i = 0; i < gang.posts.count; ++i) {
      const SignalId signal = program_.posts[gang.posts.first + i].signal;
      WEFT_CHECK(signal.value() < program_.signals.size(), "there is no signal {}", signal.value());
      in_cta_[signal.value()] = kMixed;
    }
  }

  void charge_gang(std::uint32_t gang, const GangUse& use) {
    WEFT_CHECK(use.numerator >= 0, "gang {} has a use of {} bytes a byte", gang, use.numerator);
    const auto amount = static_cast<std::uint64_t>(use.numerator);
    switch (use.on) {
      case GangUse::On::memory:
        collector_.memory(MemoryId(use.index), amount);
        return;
      case GangUse::On::link:
        collector_.link(use.index, amount);
        return;
      case GangUse::On::fabric_switch:
        collector_.fabric_switch(use.index, amount);
        return;
    }
  }

  void compile_views() {
    std::vector<std::uint32_t> seen_on(program_.waits.empty() ? 0 : program_.kernels.size(), kNone);
    for (CompiledCommand& command : out_.commands) {
      const CompiledStream& stream = out_.streams[command.stream];
      if (command.op == Op::launch) {
        const Kernel& kernel = program_.kernels[command.target];
        if (kernel.gang) {
          const Gang& gang = program_.gangs[kernel.gang->value()];
          const RankId rank = program_.gang_members[gang.members.first + kernel.gang_member].rank;
          WEFT_CHECK(rank.value() == stream.rank,
                     "member {} of gang {} is of rank {} and is launched by rank {}",
                     kernel.gang_member, kernel.gang->value(), rank.value(), stream.rank);
        }
        if (program_.waits.empty() || seen_on[command.target] == stream.device) continue;
        seen_on[command.target] = stream.device;
        view_waits(kernel, stream.device);
      } else if (command.op == Op::wait_signal) {
        in_cta_[command.target] = kMixed;
        std::uint32_t view = out_.signal_view[command.target];
        while (out_.views[view].device != stream.device) view = out_.views[view].next;
        command.target = view;
      }
    }
    for (const CompiledPost& post : out_.posts) in_cta_[post.signal] = kMixed;
  }

  void view_waits(const Kernel& kernel, std::uint32_t device) {
    for (std::uint32_t r = 0; r < kernel.roles.count; ++r) {
      const Slice& ranges = program_.roles[kernel.roles.first + r].ranges;
      for (std::uint32_t k = 0; k < ranges.count; ++k) {
        const Slice& waits = program_.ranges[ranges.first + k].waits;
        for (std::uint32_t w = 0; w < waits.count; ++w) {
          add_view(program_, program_.waits[waits.first + w].signal, device, out_);
        }
      }
    }
  }

  void compile_legs() {
    if (program_.signals.empty()) return;
    const std::size_t memories = machine_.memories.size();
    std::vector<std::int64_t> way(memories * memories, -1);
    for (const Route& route : machine_.routes) {
      if (route.kind != Route::Kind::unicast) continue;
      std::int64_t& latency =
          way[route.sources.front().value() * memories + route.targets.front().value()];
      if (latency < 0) latency = route.latency.ps();
    }
    out_.leg.assign(machine_.devices.size() * memories, 0);
    if (!effects_.launch_and_sync) return;
    for (std::size_t d = 0; d < machine_.devices.size(); ++d) {
      const std::size_t home = machine_.devices[d].memory.value();
      for (std::size_t m = 0; m < memories; ++m) {
        const std::optional<DeviceId>& owner = machine_.memories[m].device;
        if (owner && owner->value() == d) continue;
        const std::int64_t route = std::max<std::int64_t>(way[home * memories + m], 0);
        out_.leg[d * memories + m] =
            route + (owner ? machine_.control.signal_peer : machine_.control.signal_host).ps();
      }
    }
  }

  const Machine& machine_;
  const Program& program_;
  const Effects& effects_;
  Compiled& out_;
  UseCollector collector_;
  std::vector<std::uint32_t> in_cta_;
};

}  // namespace

void compile_kernels(const Machine& machine, const Program& program, const Effects& effects,
                     Compiled& compiled) {
  KernelCompiler(machine, program, effects, compiled).compile();
}

}  // namespace weft::sim::engine
