// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/laws/hops.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace weft::sim::laws {

namespace {

std::int64_t sum(const std::map<LinkEnd, std::int64_t>& shares) {
  return std::accumulate(
      shares.begin(), shares.end(), std::int64_t{0},
      [](std::int64_t total, const auto& share) { return total + share.second; });
}

bool holds(const std::vector<MemoryId>& memories, const LinkEnd& end) {
  return std::find(memories.begin(), memories.end(), MemoryId(end.index)) != memories.end();
}

std::string place(const Machine& machine, const LinkEnd& end) {
  switch (end.of) {
    case LinkEnd::Of::memory:
      return fmt::format("memory {} \"{}\"", end.index, machine.memories[end.index].name);
    case LinkEnd::Of::fabric_switch:
      return fmt::format("switch {} \"{}\"", end.index, machine.switches[end.index].name);
    case LinkEnd::Of::nic:
      break;
  }
  return fmt::format("NIC {} \"{}\"", end.index, machine.nics[end.index].name);
}

class RouteCheck {
 public:
  RouteCheck(const Machine& machine, const Route& route, Breaches& breaches)
      : machine_(machine), route_(route), breaches_(breaches) {}

  void check(const Hop& hop) {
    hop_ = &hop;
    if (hop.at.of == LinkEnd::Of::memory) return check_end();
    const Fan fan = declared_fan(route_, hop);
    if (hop.total_out() * fan.in != hop.total_in() * fan.out) {
      tell(fmt::format("{} of {} go in and {} come out", hop.total_in(), route_.denominator,
                       hop.total_out()));
    }
    if (route_.kind == Route::Kind::multicast) check_branches(hop.out, hop.total_in(), fan.out);
    if (route_.kind == Route::Kind::reduce) check_branches(hop.in, hop.total_out(), fan.in);
  }

 private:
  void tell(const std::string& what) {
    breaches_.push_back(
        fmt::format("route \"{}\" at {}: {}", route_.name, place(machine_, hop_->at), what));
  }

  void check_end() {
    const bool source = holds(route_.sources, hop_->at);
    const bool target = holds(route_.targets, hop_->at);
    if (hop_->total_out() != (source ? route_.denominator : 0)) {
      tell(fmt::format("{} of {} leave it", hop_->total_out(), route_.denominator));
    }
    if (hop_->total_in() != (target ? route_.denominator : 0)) {
      tell(fmt::format("{} of {} enter it", hop_->total_in(), route_.denominator));
    }
  }

  void check_branches(const std::map<LinkEnd, std::int64_t>& branches, std::int64_t whole,
                      std::int64_t fan) {
    for (const auto& [end, share] : branches) {
      if (share != whole) {
        tell(fmt::format("the branch of {} has {} of {}", place(machine_, end), share, whole));
      }
    }
    if (fan == 1) return;
    const bool able =
        hop_->at.of == LinkEnd::Of::fabric_switch &&
        (route_.kind == Route::Kind::multicast ? machine_.switches[hop_->at.index].multicasts
                                               : machine_.switches[hop_->at.index].reduces);
    if (!able) tell(fmt::format("it cannot fan 1:{}", fan));
  }

  const Machine& machine_;
  const Route& route_;
  Breaches& breaches_;
  const Hop* hop_ = nullptr;
};

}  // namespace

std::int64_t Hop::total_in() const {
  return sum(in);
}

std::int64_t Hop::total_out() const {
  return sum(out);
}

std::optional<std::vector<Hop>> hops_of(const Machine& machine, const Route& route) {
  std::map<LinkEnd, Hop> hops;
  for (const RouteShare& share : route.shares) {
    if (share.on != RouteShare::On::link) continue;
    const Link& link = machine.links[share.index];
    if (!link.from || !link.to) return std::nullopt;
    hops[*link.from].out[*link.to] += share.numerator;
    hops[*link.to].in[*link.from] += share.numerator;
  }
  std::vector<Hop> list;
  for (auto& [at, hop] : hops) {
    hop.at = at;
    list.push_back(std::move(hop));
  }
  return list;
}

Fan declared_fan(const Route& route, const Hop& hop) {
  Fan fan;
  if (route.kind == Route::Kind::multicast) fan.out = static_cast<std::int64_t>(hop.out.size());
  if (route.kind == Route::Kind::reduce) fan.in = static_cast<std::int64_t>(hop.in.size());
  return fan;
}

Breaches hops_conserve(const Machine& machine) {
  Breaches breaches;
  for (const Route& route : machine.routes) {
    const auto hops = hops_of(machine, route);
    if (!hops) continue;
    RouteCheck check(machine, route, breaches);
    for (const Hop& hop : *hops) check.check(hop);
    // Memories that no link of the route touches: only what stays inside one needs no link.
    const bool inside = hops->empty() && route.sources == route.targets;
    for (const auto* ends : {&route.sources, &route.targets}) {
      for (const MemoryId memory : *ends) {
        const LinkEnd end{LinkEnd::Of::memory, memory.value()};
        const bool touched =
            std::any_of(hops->begin(), hops->end(), [&](const Hop& hop) { return hop.at == end; });
        if (!touched && !inside) {
          breaches.push_back(
              fmt::format("route \"{}\" never touches {}", route.name, place(machine, end)));
        }
      }
    }
  }
  return breaches;
}

}  // namespace weft::sim::laws
