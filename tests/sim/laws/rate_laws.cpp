// SPDX-License-Identifier: Apache-2.0
// Rates at every moment: no resource above its capacity, and each activity at its cap or on a full
// resource where no other has a larger weighted rate. The pipes of contended SMs are resources like
// the others; CTAs that spin on them have no rates in the records and take what the condition says.
#include <algorithm>
#include <cmath>
#include <set>

#include "tests/sim/laws/activities.hpp"
#include "tests/sim/laws/calls.hpp"

namespace weft::sim::laws {

namespace {

constexpr double kNanosecondsPerSecond = 1e9;

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
    case ResourceKind::pipe:
      return "SM pipe";
  }
  return "";
}

double slowdown_at(const Interference& term, int ctas) {
  std::int64_t below = 0;
  std::int64_t slow = 1000;
  for (const Interference::Point& point : term.points) {
    if (ctas <= point.ctas) {
      if (point.ctas == below) return static_cast<double>(point.slowdown_milli);
      const std::int64_t rise = (point.slowdown_milli - slow) * (ctas - below);
      return static_cast<double>(slow + rise / (point.ctas - below));
    }
    below = point.ctas;
    slow = point.slowdown_milli;
  }
  return static_cast<double>(slow);
}

// One moment between two changes of any rate.
class Moment {
 public:
  Moment(const RecordedRun& run, const PipeSizes& pipes, TimePoint at)
      : run_(run), pipes_(pipes), at_(at) {}

  void add(const SharedActivity& activity) {
    const auto step = std::find_if(activity.steps.begin(), activity.steps.end(),
                                   [&](const RateStep& s) { return s.from <= at_ && at_ < s.to; });
    if (step == activity.steps.end()) return;
    running_.push_back({&activity, &*step});
    const Asks& asks = activity.asks;
    for (const auto& [key, amount] : asks.uses) {
      if (amount == 0) continue;
      Level& level = levels_[key];
      level.load += amount * asks.copies * step->units_per_second;
      level.highest = std::max(level.highest, step->units_per_second / asks.weight);
    }
  }

  void add(const Spin& spin) {
    if (spin.share.at > at_ || at_ >= spin.to) return;
    const int milli = run_.program.roles[spin.share.role].spin_issue_milli;
    Level& level = levels_[{ResourceKind::pipe, spin.share.shared}];
    level.spins += 1e3 * milli * spin.share.ctas;
    spinning_.push_back({{ResourceKind::pipe, spin.share.shared}, 1e3 * milli, spin.share.ctas});
  }

  void check(Breaches& breaches) {
    for (auto& [key, level] : levels_) {
      const std::optional<double> capacity = capacity_now(key);
      if (!capacity) continue;
      if (level.spins > 0) spin(key, level, *capacity, breaches);
      if (level.load <= *capacity * (1 + kTolerance)) continue;
      breaches.push_back(fmt::format("{} {} carries {} of {} at {} ps", kind_name(key.first),
                                     key.second, level.load, *capacity, at_.ps()));
    }
    for (const auto& [activity, step] : running_) check(*activity, *step, breaches);
    check_interference(breaches);
  }

  // Fills by hand: the level of all rises until one is at its cap or a resource is full.
  void fill(Breaches& breaches) const {
    std::vector<Filling> rising;
    for (const auto& [activity, step] : running_) {
      const bool slowed = step->limited_by == StallReason::interference;
      rising.push_back({.asks = activity->asks, .told = step->units_per_second});
      if (slowed) rising.back().asks.cap = step->units_per_second;
    }
    for (const Spinning& spin : spinning_) {
      Asks asks{.uses = {{spin.pipe, spin.amount}}, .cap = kNanosecondsPerSecond};
      asks.copies = spin.ctas;
      rising.push_back({.asks = asks, .told = {}});
    }
    std::map<ResourceKey, double> left;
    for (const auto& [key, level] : levels_) {
      if (const auto capacity = capacity_now(key)) left[key] = *capacity;
    }
    while (!rising.empty()) {
      const double level = lowest_level(rising, left);
      std::vector<std::size_t> stopped;
      for (std::size_t i = 0; i < rising.size(); ++i) {
        if (stops(rising[i], level, rising, left)) stopped.push_back(i);
      }
      for (auto i = stopped.rbegin(); i != stopped.rend(); ++i) {
        const Filling& its = rising[*i];
        const double rate = std::min(level * its.asks.weight, its.asks.cap.value_or(INFINITY));
        for (const auto& [key, amount] : its.asks.uses) {
          if (left.contains(key)) left[key] -= amount * its.asks.copies * rate;
        }
        if (its.told && std::abs(*its.told - rate) > kFillTolerance * rate) {
          breaches.push_back(
              fmt::format("at {} ps a rate is {}, and {} by filling", at_.ps(), *its.told, rate));
        }
        rising.erase(rising.begin() + static_cast<std::ptrdiff_t>(*i));
      }
    }
  }

 private:
  // Residuals of repeated subtraction lose digits.
  static constexpr double kFillTolerance = 1e-6;

  struct Spinning {
    ResourceKey pipe;
    double amount = 0;
    int ctas = 0;
  };
  struct Filling {
    Asks asks;
    std::optional<double> told;
  };

  static double level_of(const ResourceKey& key, double left, const std::vector<Filling>& rising) {
    double weight = 0;
    for (const Filling& its : rising) {
      const auto use = its.asks.uses.find(key);
      if (use == its.asks.uses.end()) continue;
      weight += use->second * its.asks.copies * its.asks.weight;
    }
    return weight > 0 ? std::max(left, 0.0) / weight : INFINITY;
  }

  static double lowest_level(const std::vector<Filling>& rising,
                             const std::map<ResourceKey, double>& left) {
    double lowest = INFINITY;
    for (const auto& [key, rest] : left) lowest = std::min(lowest, level_of(key, rest, rising));
    for (const Filling& its : rising) {
      if (its.asks.cap) lowest = std::min(lowest, *its.asks.cap / its.asks.weight);
    }
    return lowest;
  }

  static bool stops(const Filling& its, double level, const std::vector<Filling>& rising,
                    const std::map<ResourceKey, double>& left) {
    const double reached = level * (1 + 1e-12);
    if (its.asks.cap && *its.asks.cap / its.asks.weight <= reached) return true;
    return std::any_of(its.asks.uses.begin(), its.asks.uses.end(), [&](const auto& use) {
      const auto rest = left.find(use.first);
      return use.second > 0 && rest != left.end() &&
             level_of(use.first, rest->second, rising) <= reached;
    });
  }

  struct Level {
    double load = 0;
    double highest = 0;  // weighted rate
    double spins = 0;    // what the spinning CTAs take for each nanosecond a second
  };
  struct Slowed {
    double factor = 1;
    const SharedActivity* by = nullptr;
  };

  [[nodiscard]] std::optional<double> capacity_now(const ResourceKey& key) const {
    if (key.first != ResourceKind::pipe) return capacity_of(run_, key);
    const std::map<TimePoint, int>& sizes = pipes_.at(key.second);
    return std::prev(sizes.upper_bound(at_))->second * kPipeUnits;
  }

  // CTAs spin all the time, or as much as the pipe leaves them: then nobody may be above them.
  void spin(const ResourceKey& key, Level& level, double capacity, Breaches& breaches) const {
    const double left = (capacity - level.load) / level.spins;
    const double rate = std::clamp(left, 0.0, kNanosecondsPerSecond);
    if (rate < kNanosecondsPerSecond && level.highest > rate * (1 + kTolerance)) {
      breaches.push_back(fmt::format("pipe {} at {} ps: CTAs spin at level {} and others are at {}",
                                     key.second, at_.ps(), rate, level.highest));
    }
    level.load += rate * level.spins;
    level.highest = std::max(level.highest, rate);
  }

  void check(const SharedActivity& activity, const RateStep& step, Breaches& breaches) const {
    const Asks& asks = activity.asks;
    const bool at_cap = asks.cap && step.units_per_second >= *asks.cap * (1 - kTolerance);
    if (at_cap && step.units_per_second > *asks.cap * (1 + kTolerance)) {
      breaches.push_back(fmt::format("{} goes at {} beyond its cap of {}", name(activity.command),
                                     step.units_per_second, *asks.cap));
    }
    if (at_cap || step.limited_by == StallReason::interference) return;
    const double mine = step.units_per_second / asks.weight;
    std::string crossed;
    for (const auto& [key, amount] : asks.uses) {
      const std::optional<double> capacity = capacity_now(key);
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

  [[nodiscard]] DeviceId device_of(const SharedActivity& activity) const {
    const auto& commands = run_.program.threads[activity.command.thread].commands;
    const Command* command = &commands[activity.command.index];
    if (const auto* graph = std::get_if<GraphLaunch>(&command->call)) {
      command = &run_.program.graphs[graph->graph.value()].commands[activity.command.in_graph - 1];
    }
    const StreamId stream = *stream_of(command->call);
    return run_.machine.rank(run_.program.streams[stream.value()].rank).device;
  }

  [[nodiscard]] bool sends(const SharedActivity& activity,
                           std::optional<Interference::Access> by = {}) const {
    const Slice& traffic = run_.program.ranges[*activity.range].traffic;
    for (std::uint32_t i = 0; i < traffic.count; ++i) {
      const Traffic& its = run_.program.traffic[traffic.first + i];
      if (its.on != Traffic::On::route) continue;
      if (!by || its.posted_write == (*by == Interference::Access::posted_write)) return true;
    }
    return false;
  }

  // On each device all CTAs that send nothing are held back by one factor, which a term of the
  // device gives for some of the CTAs that send its kind of traffic.
  void check_interference(Breaches& breaches) const {
    std::map<DeviceId, Slowed> slowed;
    for (const auto& [activity, step] : running_) {
      if (step->limited_by != StallReason::interference) continue;
      const double factor = step->units_per_second / *activity->asks.cap;
      const DeviceId device = device_of(*activity);
      if (sends(*activity)) {
        breaches.push_back(fmt::format("{} sends and is held back", name(activity->command)));
      }
      const auto [place, fresh] = slowed.emplace(device, Slowed{factor, activity});
      if (fresh) {
        check_factor(device, factor, breaches);
      } else if (std::abs(place->second.factor - factor) > kTolerance) {
        breaches.push_back(fmt::format("{} and {} are held back by {} and {}",
                                       name(place->second.by->command), name(activity->command),
                                       place->second.factor, factor));
      }
    }
    for (const auto& [activity, step] : running_) {
      if (!activity->range || sends(*activity) || !activity->asks.cap) continue;
      const auto its = slowed.find(device_of(*activity));
      if (its == slowed.end()) continue;
      if (step->units_per_second > *activity->asks.cap * its->second.factor * (1 + kTolerance)) {
        breaches.push_back(fmt::format("{} escapes what holds back {}", name(activity->command),
                                       name(its->second.by->command)));
      }
    }
  }

  void check_factor(DeviceId device, double factor, Breaches& breaches) const {
    for (const Interference& term : run_.machine.device(device).interference) {
      int senders = 0;
      for (const auto& [activity, step] : running_) {
        if (!activity->range || device_of(*activity) != device) continue;
        if (sends(*activity, term.access)) senders += activity->ctas;
      }
      for (int ctas = 1; ctas <= senders; ++ctas) {
        if (std::abs(factor * slowdown_at(term, ctas) - 1000) <= 1e-6) return;
      }
    }
    breaches.push_back(fmt::format("no term of device {} holds back by {} at {} ps", device.value(),
                                   factor, at_.ps()));
  }

  const RecordedRun& run_;
  const PipeSizes& pipes_;
  TimePoint at_;
  std::map<ResourceKey, Level> levels_;
  std::vector<Spinning> spinning_;
  std::vector<std::pair<const SharedActivity*, const RateStep*>> running_;
};

template <class Check>
Breaches at_each_moment(const RecordedRun& run, const Check& check) {
  Breaches breaches;
  if (!all_shared(run.options.effects) || !run.options.effects.chunking) return breaches;
  Breaches ignored;
  const std::vector<SharedActivity> activities = shared_activities(run, ignored);
  if (!ignored.empty()) return breaches;  // bytes_are_conserved tells them
  const std::vector<Spin> spins = spins_of(run);
  const PipeSizes pipes = pipe_sizes(run);
  std::set<TimePoint> changes;
  for (const SharedActivity& activity : activities) {
    for (const RateStep& step : activity.steps) {
      if (step.from < step.to) changes.insert(step.from);
    }
  }
  for (const Spin& spin : spins) changes.insert(spin.share.at);
  for (const TimePoint at : changes) {
    Moment moment(run, pipes, at);
    for (const SharedActivity& activity : activities) moment.add(activity);
    for (const Spin& spin : spins) moment.add(spin);
    check(moment, breaches);
  }
  return breaches;
}

}  // namespace

Breaches rates_are_max_min(const RecordedRun& run) {
  return at_each_moment(run, [](Moment& moment, Breaches& breaches) { moment.check(breaches); });
}

Breaches rates_equal_filling(const RecordedRun& run) {
  return at_each_moment(run, [](Moment& moment, Breaches& breaches) { moment.fill(breaches); });
}

}  // namespace weft::sim::laws
