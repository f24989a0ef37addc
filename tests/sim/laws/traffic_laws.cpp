// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tests/sim/laws/activities.hpp"
#include "tests/sim/laws/calls.hpp"
#include "tests/sim/laws/hops.hpp"

namespace weft::sim::laws {

namespace {

// What each route carried, from the rates; into its sources and out of its targets.
struct Carried {
  double bytes = 0;
  double tolerance = 0;
};

// Tiles that the rates make against those that the cohorts did. A range without shared traffic has
// rates only while its SMs are contended.
void check_tiles(const RecordedRun& run,
                 const std::map<std::pair<CommandRef, std::uint32_t>, Carried>& made,
                 Breaches& breaches) {
  std::map<std::pair<CommandRef, std::uint32_t>, double> done;
  for (const CohortSpan& cohort : run.records.cohorts) {
    done[{cohort.command, cohort.range}] += static_cast<double>(cohort.tiles_per_cta) * cohort.ctas;
  }
  for (const auto& [key, carried] : made) {
    const double tiles = done[key];
    const bool moves =
        all_shared(run.options.effects) && run.program.ranges[key.second].traffic.count > 0;
    const double off = carried.bytes - tiles;
    if (off > carried.tolerance || (moves && -off > carried.tolerance)) {
      breaches.push_back(fmt::format("{} range {}: rates make {} tiles of {}", name(key.first),
                                     key.second, carried.bytes, tiles));
    }
  }
}

void check_routes(const RecordedRun& run, const std::map<std::uint32_t, Carried>& routes,
                  const std::map<std::uint32_t, double>& declared, Breaches& breaches) {
  for (const auto& [index, bytes] : declared) {
    const auto found = routes.find(index);
    const Carried carried = found == routes.end() ? Carried{} : found->second;
    if (std::abs(carried.bytes - bytes) > carried.tolerance + kTolerance * bytes) {
      breaches.push_back(fmt::format("route {} \"{}\" carried {} bytes of {}", index,
                                     run.machine.routes[index].name, carried.bytes, bytes));
    }
  }
}

// Whatever passes a place, by all routes together: bytes out are bytes in times the declared fan.
void check_hops(const Machine& machine, const std::map<std::uint32_t, Carried>& routes,
                Breaches& breaches) {
  struct Passed {
    double expected = 0;
    double out = 0;
  };
  std::map<LinkEnd, Passed> places;
  for (const auto& [index, carried] : routes) {
    const Route& route = machine.routes[index];
    const auto hops = hops_of(machine, route);
    if (!hops) continue;
    const double part = carried.bytes / static_cast<double>(route.denominator);
    for (const Hop& hop : *hops) {
      if (hop.at.of == LinkEnd::Of::memory) continue;
      const Fan fan = declared_fan(route, hop);
      Passed& passed = places[hop.at];
      passed.expected += part * static_cast<double>(hop.total_in()) * static_cast<double>(fan.out) /
                         static_cast<double>(fan.in);
      passed.out += part * static_cast<double>(hop.total_out());
    }
  }
  for (const auto& [at, passed] : places) {
    if (std::abs(passed.out - passed.expected) <= kTolerance * passed.expected) continue;
    breaches.push_back(fmt::format("at switch or NIC {} {} bytes come out instead of {}", at.index,
                                   passed.out, passed.expected));
  }
}

}  // namespace

Breaches bytes_are_conserved(const RecordedRun& run) {
  Breaches breaches;
  for (const std::string& breach : hops_conserve(run.machine)) breaches.push_back(breach);
  const std::vector<SharedActivity> activities = shared_activities(run, breaches);
  std::map<std::pair<CommandRef, std::uint32_t>, Carried> tiles;  // by range
  std::map<CommandRef, Carried> flows;
  std::map<std::uint32_t, Carried> gangs;
  for (const SharedActivity& activity : activities) {
    if (activity.range) {
      Carried& carried = tiles[{activity.command, *activity.range}];
      carried.bytes += activity.progress() * activity.ctas;
      carried.tolerance += activity.tolerance() * activity.ctas;
      continue;
    }
    Carried& carried = activity.gang ? gangs[*activity.gang] : flows[activity.command];
    carried.bytes += activity.progress();
    carried.tolerance += activity.tolerance();
  }
  std::map<std::uint32_t, Carried> routes;
  std::map<std::uint32_t, double> declared_routes;
  std::map<std::uint32_t, double> declared_gangs;
  for (std::uint32_t t = 0; t < run.program.threads.size(); ++t) {
    for (const NamedCall& call : calls_of(run.program, t)) {
      const auto carry = [&](RouteId route, Bytes bytes) {
        bool modelled = false;
        for (const RouteShare& share : run.machine.routes[route.value()].shares) {
          const auto kind =
              share.on == RouteShare::On::link ? ResourceKind::link : ResourceKind::fabric_switch;
          modelled = modelled || capacity_of(run, {kind, share.index});
        }
        if (!modelled || !run.options.effects.transport) return;
        declared_routes[route.value()] += static_cast<double>(bytes.count());
        Carried& carried = routes[route.value()];
        carried.bytes += flows[call.ref].bytes;
        carried.tolerance += flows[call.ref].tolerance;
      };
      const auto carry_tiles = [&](const Kernel& kernel) {
        for (std::uint32_t i = 0; i < kernel.roles.count; ++i) {
          const Slice& ranges = run.program.roles[kernel.roles.first + i].ranges;
          for (std::uint32_t k = ranges.first; k < ranges.first + ranges.count; ++k) {
            const TileRange& range = run.program.ranges[k];
            const auto found = tiles.find({call.ref, k});
            const Carried done = found == tiles.end() ? Carried{} : found->second;
            for (std::uint32_t n = 0; n < range.traffic.count; ++n) {
              const Traffic& traffic = run.program.traffic[range.traffic.first + n];
              if (traffic.on != Traffic::On::route) continue;
              const auto bytes = static_cast<double>(traffic.bytes.count());
              declared_routes[traffic.index] += static_cast<double>(range.tiles) * bytes;
              Carried& carried = routes[traffic.index];
              carried.bytes += done.bytes * bytes;
              carried.tolerance += done.tolerance * bytes;
            }
          }
        }
      };
      if (const auto* copy = std::get_if<Copy>(&call.command->call)) {
        carry(copy->route, copy->bytes);
      } else if (const auto* message = std::get_if<Message>(&call.command->call)) {
        carry(message->route, message->bytes);
      } else if (const auto* launch = std::get_if<Launch>(&call.command->call)) {
        const Kernel& kernel = run.program.kernels[launch->kernel.value()];
        if (!kernel.gang && all_shared(run.options.effects) && run.options.effects.chunking) {
          carry_tiles(kernel);
        }
        if (!kernel.gang || kernel.gang_member != 0 || !run.options.effects.transport) continue;
        declared_gangs[kernel.gang->value()] +=
            static_cast<double>(run.program.gangs[kernel.gang->value()].bytes.count());
      }
    }
  }
  if (run.options.effects.chunking) check_tiles(run, tiles, breaches);
  check_routes(run, routes, declared_routes, breaches);
  check_hops(run.machine, routes, breaches);
  for (const auto& [gang, bytes] : declared_gangs) {
    if (std::abs(gangs[gang].bytes - bytes) > gangs[gang].tolerance + kTolerance * bytes) {
      breaches.push_back(
          fmt::format("gang {} moved {} bytes of {}", gang, gangs[gang].bytes, bytes));
    }
  }
  return breaches;
}

}  // namespace weft::sim::laws
