// SPDX-License-Identifier: Apache-2.0
#include "sim/fold/symmetry.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace weft::sim::fold_detail {

RankView view_ranks(const Machine& machine, const Program& program) {
  RankView view;
  std::vector<std::uint32_t> number(machine.ranks.size(), kUnmapped);
  for (const Stream& stream : program.streams) number[stream.rank.value()] = 0;
  std::vector<std::uint32_t> on_device(machine.devices.size(), 0);
  for (std::uint32_t r = 0; r < number.size(); ++r) {
    if (number[r] == kUnmapped) continue;
    number[r] = static_cast<std::uint32_t>(view.ranks.size());
    view.ranks.emplace_back(r);
    if (++on_device[machine.ranks[r].device.value()] > 1) {
      view.refused = fmt::format("several ranks share device {}", machine.ranks[r].device.value());
      return view;
    }
  }
  view.streams.resize(view.ranks.size());
  for (std::uint32_t s = 0; s < program.streams.size(); ++s) {
    view.streams[number[program.streams[s].rank.value()]].push_back(s);
  }
  view.thread_of.assign(view.ranks.size(), kUnmapped);
  for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
    std::uint32_t serves = kUnmapped;
    auto note = [&](StreamId stream) {
      const std::uint32_t rank = number[program.streams[stream.value()].rank.value()];
      if (serves != kUnmapped && serves != rank) {
        view.refused = fmt::format("host thread {} serves several ranks", t);
      }
      serves = rank;
    };
    auto note_all = [&](const std::vector<Command>& commands, auto&& self) -> void {
      for (const Command& command : commands) {
        std::visit(
            [&](const auto& call) {
              if constexpr (requires { call.stream; }) note(call.stream);
              if constexpr (requires { call.graph; }) {
                self(program.graphs[call.graph.value()].commands, self);
              }
            },
            command.call);
      }
    };
    note_all(program.threads[t].commands, note_all);
    if (!view.refused.empty()) return view;
    if (serves == kUnmapped) {
      if (program.threads[t].commands.empty()) continue;
      view.refused = fmt::format("host thread {} serves no rank", t);
      return view;
    }
    if (view.thread_of[serves] != kUnmapped) {
      view.refused =
          fmt::format("rank {} is served by several host threads", view.ranks[serves].value());
      return view;
    }
    view.thread_of[serves] = t;
  }
  return view;
}

namespace {

constexpr std::uint32_t kSeveral = kUnmapped - 1;

void note(std::uint32_t& only, std::uint32_t id) {
  only = only == kUnmapped || only == id ? id : kSeveral;
}

}  // namespace

RouteIndex::RouteIndex(const Machine& machine)
    : machine_(machine),
      ordered_(machine.routes.size()),
      memories_(machine.memories.size()),
      between_(memories_ * memories_, kUnmapped),
      source_of_(machine.links.size(), kUnmapped),
      target_of_(machine.links.size(), kUnmapped) {
  for (std::uint32_t r = 0; r < machine.routes.size(); ++r) {
    const Route& route = machine.routes[r];
    if (route.kind != Route::Kind::unicast) continue;
    const std::uint32_t source = route.sources.front().value();
    const std::uint32_t target = route.targets.front().value();
    std::uint32_t& first = between_[source * memories_ + target];
    if (first == kUnmapped) first = r;
    for (const RouteShare& share : route.shares) {
      if (share.on != RouteShare::On::link) continue;
      note(source_of_[share.index], source);
      note(target_of_[share.index], target);
    }
  }
}

const std::vector<RouteShare>& RouteIndex::shares(RouteId id) const {
  std::vector<RouteShare>& list = ordered_[id.value()];
  if (!list.empty()) return list;
  list = machine_.routes[id.value()].shares;
  const auto place = [&](const RouteShare& share) {
    if (share.on != RouteShare::On::link) return std::array{3, 0};
    const int far_from_source = source_of_[share.index] == kSeveral ? 1 : 0;
    const int far_from_target = target_of_[share.index] == kSeveral ? 1 : 0;
    return std::array{far_from_source, far_from_target};
  };
  std::stable_sort(list.begin(), list.end(),
                   [&](const RouteShare& a, const RouteShare& b) { return place(a) < place(b); });
  return list;
}

Symmetry::Symmetry(const Machine& machine, const Program& program, const RankView& view,
                   const RouteIndex& index, const Renumbering& ranks)
    : machine_(machine),
      program_(program),
      view_(view),
      index_(index),
      ranks_(ranks),
      devices_(machine.devices.size()),
      memories_(machine.memories.size()),
      links_(machine.links.size()),
      switches_(machine.switches.size()),
      nics_(machine.nics.size()),
      routes_(machine.routes.size()),
      streams_(program.streams.size()),
      events_(program.events),
      signals_(program.signals.size()),
      kernels_(program.kernels.size()),
      gangs_(program.gangs.size()),
      graphs_(program.graphs.size()) {}

bool Symmetry::fail(std::string why) {
  if (!why_) why_ = std::move(why);
  return false;
}

std::optional<std::string> Symmetry::check() {
  if (ranks_agree()) {
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (!threads_agree(i, ranks_[i])) return why_;
    }
    for (std::uint32_t g = 0; g < program_.gangs.size(); ++g) {
      if (gangs_.knows(g) && !gang_posts_agree(GangId(g), GangId(gangs_(g)))) return why_;
    }
  }
  return why_;
}

// ---- machine

bool Symmetry::ranks_agree() {
  for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
    const Rank& a = machine_.ranks[view_.ranks[i].value()];
    const Rank& b = machine_.ranks[view_.ranks[ranks_[i]].value()];
    bool fresh = false;
    devices_.learn(a.device.value(), b.device.value(), fresh);
    const Process& p = machine_.processes[a.process.value()];
    const Process& q = machine_.processes[b.process.value()];
    if (a.sms_per_gpc != b.sms_per_gpc || p.launch_cost != q.launch_cost ||
        p.graph_launch_cost != q.graph_launch_cost || p.max_connections != q.max_connections) {
      return fail(fmt::format("ranks {} and {} differ in their SMs or host process",
                              view_.ranks[i].value(), view_.ranks[ranks_[i]].value()));
    }
    if (!devices_agree(a.device.value(), b.device.value())) return false;
  }
  return true;
}

bool Symmetry::devices_agree(std::uint32_t from, std::uint32_t to) {
  const Device& a = machine_.devices[from];
  const Device& b = machine_.devices[to];
  auto engines_agree = [](const TransportEngine& x, const TransportEngine& y) {
    return x.kind == y.kind && x.direction == y.direction && x.start_cost == y.start_cost &&
           x.concurrency == y.concurrency && x.rate == y.rate &&
           x.weight_milli_ctas == y.weight_milli_ctas;
  };
  if (!(a.sms == b.sms) || a.l2 != b.l2 || a.speed_permille != b.speed_permille ||
      a.interference != b.interference ||
      !std::equal(a.engines.begin(), a.engines.end(), b.engines.begin(), b.engines.end(),
                  engines_agree)) {
    return fail(fmt::format("devices {} \"{}\" and {} \"{}\" differ", from, a.name, to, b.name));
  }
  return memory(a.memory, b.memory);
}

bool Symmetry::memory(MemoryId a, MemoryId b) {
  bool fresh = false;
  if (!memories_.learn(a.value(), b.value(), fresh)) {
    return fail(fmt::format("memory {} would have to be two memories", a.value()));
  }
  if (!fresh) return true;
  const Memory& x = machine_.memories[a.value()];
  const Memory& y = machine_.memories[b.value()];
  if (x.bandwidth == y.bandwidth && x.device.has_value() == y.device.has_value()) return true;
  return fail(
      fmt::format("memories {} \"{}\" and {} \"{}\" differ", a.value(), x.name, b.value(), y.name));
}

bool Symmetry::link(std::uint32_t a, std::uint32_t b) {
  bool fresh = false;
  if (!links_.learn(a, b, fresh)) {
    return fail(
        fmt::format("link {} \"{}\" would have to be two links", a, machine_.links[a].name));
  }
  if (!fresh) return true;
  const Link& x = machine_.links[a];
  const Link& y = machine_.links[b];
  if (x.capacity_per_direction == y.capacity_per_direction &&
      x.speed_permille == y.speed_permille) {
    return true;
  }
  return fail(fmt::format("links {} \"{}\" and {} \"{}\" differ", a, x.name, b, y.name));
}

bool Symmetry::fabric_switch(std::uint32_t a, std::uint32_t b) {
  bool fresh = false;
  if (!switches_.learn(a, b, fresh)) {
    return fail(fmt::format("switch {} would have to be two switches", a));
  }
  if (!fresh || machine_.switches[a].capacity == machine_.switches[b].capacity) return true;
  return fail(fmt::format("switches {} and {} differ", a, b));
}

// A route of many ends names its links by the order of those, so its links are learnt from the
// routes between its ends.
void Symmetry::learn_links(const Route& route) {
  for (const MemoryId source : route.sources) {
    for (const MemoryId target : route.targets) {
      if (!memories_.knows(source.value()) || !memories_.knows(target.value())) continue;
      const std::uint32_t a = index_.between(source, target);
      const std::uint32_t b =
          index_.between(MemoryId(memories_(source.value())), MemoryId(memories_(target.value())));
      if (a != kUnmapped && b != kUnmapped) this->route(RouteId(a), RouteId(b));
    }
  }
}

// A gang's members name their links in any order: they are learnt from the routes between ranks.
void Symmetry::learn_links_of_ranks() {
  if (learnt_links_) return;
  learnt_links_ = true;
  Route all;
  for (const RankId rank : view_.ranks) {
    all.sources.push_back(machine_.devices[machine_.ranks[rank.value()].device.value()].memory);
  }
  all.targets = all.sources;
  learn_links(all);
}

bool Symmetry::route(RouteId a, RouteId b) {
  bool fresh = false;
  if (!routes_.learn(a.value(), b.value(), fresh)) {
    return fail(fmt::format("route {} would have to be two routes", a.value()));
  }
  if (!fresh) return true;
  const Route& x = machine_.routes[a.value()];
  const Route& y = machine_.routes[b.value()];
  const auto differ = [&] {
    return fail(
        fmt::format("routes {} \"{}\" and {} \"{}\" differ", a.value(), x.name, b.value(), y.name));
  };
  if (x.kind != y.kind || x.denominator != y.denominator || x.latency != y.latency ||
      x.sources.size() != y.sources.size() || x.targets.size() != y.targets.size() ||
      x.shares.size() != y.shares.size() || x.nic.has_value() != y.nic.has_value()) {
    return differ();
  }
  if (x.nic) {
    const Nic& n = machine_.nics[x.nic->value()];
    const Nic& m = machine_.nics[y.nic->value()];
    if (!nics_.learn(x.nic->value(), y.nic->value(), fresh) || n.message_cost != m.message_cost ||
        n.queue_pairs != m.queue_pairs) {
      return differ();
    }
  }
  if (x.kind == Route::Kind::unicast) {
    if (!memory(x.sources.front(), y.sources.front()) ||
        !memory(x.targets.front(), y.targets.front())) {
      return false;
    }
    const std::vector<RouteShare>& mine = index_.shares(a);
    const std::vector<RouteShare>& theirs = index_.shares(b);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const RouteShare& s = mine[i];
      const RouteShare& t = theirs[i];
      if (s.on != t.on || s.numerator != t.numerator) return differ();
      const bool same =
          s.on == RouteShare::On::link ? link(s.index, t.index) : fabric_switch(s.index, t.index);
      if (!same) return false;
    }
    return true;
  }
  learn_links(x);
  learn_links_of_ranks();
  auto ends = [](const std::vector<MemoryId>& memories, const IdMap* map) {
    std::vector<std::uint32_t> ids;
    for (const MemoryId m : memories) ids.push_back(map ? (*map)(m.value()) : m.value());
    std::sort(ids.begin(), ids.end());
    return ids;
  };
  auto shares = [&](const Route& route, bool mapped) {
    std::vector<std::array<std::int64_t, 3>> list;
    for (const RouteShare& share : route.shares) {
      const IdMap& map = share.on == RouteShare::On::link ? links_ : switches_;
      list.push_back({static_cast<std::int64_t>(share.on), mapped ? map(share.index) : share.index,
                      share.numerator});
    }
    std::sort(list.begin(), list.end());
    return list;
  };
  if (ends(x.sources, &memories_) != ends(y.sources, nullptr) ||
      ends(x.targets, &memories_) != ends(y.targets, nullptr) ||
      shares(x, true) != shares(y, false)) {
    return differ();
  }
  return true;
}

}  // namespace weft::sim::fold_detail
