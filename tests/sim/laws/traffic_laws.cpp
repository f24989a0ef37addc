// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/sim/laws/activities.hpp"
#include "tests/sim/laws/calls.hpp"

namespace weft::sim::laws {

namespace {

constexpr double kTolerance = 1e-9;

bool all_shared(const Effects& effects) {
  return effects.hbm_share && effects.link_share && effects.transport;
}

const char* kind_name(ResourceKind kind) {
  switch (kind) {
    case ResourceKind::memory:
      return "memory";
    case ResourceKind::l2:
      return "L2";
    case ResourceKind::link:
      return "link";
    case ResourceKind::fabric_switch:
      return "switch";
  }
  return "";
}

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

void check_hops(const RecordedRun& run, const std::map<std::uint32_t, Carried>& routes,
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

// A unicast hop sends on what it gets; a multicast tree delivers it once to each target, a reduce
// tree takes it once from each source: the fan that the route declares.
void check_fans(const Machine& machine, Breaches& breaches) {
  for (const Route& route : machine.routes) {
    const std::size_t fan_in = route.kind == Route::Kind::reduce ? route.sources.size() : 1;
    const std::size_t fan_out = route.kind == Route::Kind::multicast ? route.targets.size() : 1;
    if (route.sources.size() != fan_in || route.targets.size() != fan_out) {
      breaches.push_back(fmt::format("route \"{}\" has {} sources and {} targets", route.name,
                                     route.sources.size(), route.targets.size()));
    }
  }
}

}  // namespace

Breaches bytes_are_conserved(const RecordedRun& run) {
  Breaches breaches;
  check_fans(run.machine, breaches);
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
      if (const auto* copy = std::get_if<Copy>(&call.command->call)) {
        carry(copy->route, copy->bytes);
      } else if (const auto* message = std::get_if<Message>(&call.command->call)) {
        carry(message->route, message->bytes);
      } else if (const auto* launch = std::get_if<Launch>(&call.command->call)) {
        const Kernel& kernel = run.program.kernels[launch->kernel.value()];
        if (!kernel.gang || kernel.gang_member != 0 || !run.options.effects.transport) continue;
        declared_gangs[kernel.gang->value()] +=
            static_cast<double>(run.program.gangs[kernel.gang->value()].bytes.count());
      }
    }
  }
  if (run.options.effects.chunking) check_tiles(run, tiles, breaches);
  check_hops(run, routes, declared_routes, breaches);
  for (const auto& [gang, bytes] : declared_gangs) {
    if (std::abs(gangs[gang].bytes - bytes) > gangs[gang].tolerance + kTolerance * bytes) {
      breaches.push_back(
          fmt::format("gang {} moved {} bytes of {}", gang, gangs[gang].bytes, bytes));
    }
  }
  return breaches;
}

namespace {

// One moment between two changes of any rate.
class Moment {
 public:
  Moment(const RecordedRun& run, TimePoint at) : run_(run), at_(at) {}

  void add(const SharedActivity& activity) {
    const auto step = std::find_if(activity.steps.begin(), activity.steps.end(),
                                   [&](const RateStep& s) { return s.from <= at_ && at_ < s.to; });
    if (step == activity.steps.end()) return;
    running_.push_back({&activity, &*step});
    const Asks& asks = activity.asks;
    for (const auto& [key, amount] : asks.uses) {
      Level& level = levels_[key];
      level.load += amount * asks.copies * step->units_per_second;
      level.highest = std::max(level.highest, step->units_per_second / asks.weight);
    }
  }

  void check(Breaches& breaches) const {
    for (const auto& [key, level] : levels_) {
      const std::optional<double> capacity = capacity_of(run_, key);
      if (!capacity || level.load <= *capacity * (1 + kTolerance)) continue;
      breaches.push_back(fmt::format("{} {} carries {} of {} at {} ps", kind_name(key.first),
                                     key.second, level.load, *capacity, at_.ps()));
    }
    if (shares_sms(run_)) return;
    for (const auto& [activity, step] : running_) check(*activity, *step, breaches);
  }

 private:
  struct Level {
    double load = 0;
    double highest = 0;  // weighted rate
  };

  void check(const SharedActivity& activity, const RateStep& step, Breaches& breaches) const {
    const Asks& asks = activity.asks;
    if (step.limited_by == StallReason::sm_share || step.limited_by == StallReason::interference) {
      return;
    }
    if (asks.cap && step.units_per_second >= *asks.cap * (1 - kTolerance)) {
      if (step.units_per_second > *asks.cap * (1 + kTolerance)) {
        breaches.push_back(fmt::format("{} goes at {} beyond its cap of {}", name(activity.command),
                                       step.units_per_second, *asks.cap));
      }
      return;
    }
    const double mine = step.units_per_second / asks.weight;
    std::string crossed;
    for (const auto& [key, amount] : asks.uses) {
      const std::optional<double> capacity = capacity_of(run_, key);
      if (!capacity || amount == 0) continue;
      const Level& level = levels_.at(key);
      const bool full = level.load >= *capacity * (1 - kTolerance);
      if (full && level.highest <= mine * (1 + kTolerance)) return;
      crossed +=
          fmt::format("; {} {} carries {:.4f} of its capacity, highest level {}",
                      kind_name(key.first), key.second, level.load / *capacity, level.highest);
    }
    breaches.push_back(
        fmt::format("{} at {} ps goes at {} (level {}, cap {}) and leads on no full resource{}",
                    name(activity.command), at_.ps(), step.units_per_second, mine,
                    asks.cap.value_or(INFINITY), crossed));
  }

  const RecordedRun& run_;
  TimePoint at_;
  std::map<ResourceKey, Level> levels_;
  std::vector<std::pair<const SharedActivity*, const RateStep*>> running_;
};

}  // namespace

Breaches rates_are_max_min(const RecordedRun& run) {
  Breaches breaches;
  if (!all_shared(run.options.effects)) return breaches;
  Breaches ignored;
  const std::vector<SharedActivity> activities = shared_activities(run, ignored);
  if (!ignored.empty()) return breaches;  // bytes_are_conserved tells them
  std::set<TimePoint> changes;
  for (const SharedActivity& activity : activities) {
    for (const RateStep& step : activity.steps) {
      if (step.from < step.to) changes.insert(step.from);
    }
  }
  for (const TimePoint at : changes) {
    Moment moment(run, at);
    for (const SharedActivity& activity : activities) moment.add(activity);
    moment.check(breaches);
  }
  return breaches;
}

}  // namespace weft::sim::laws
