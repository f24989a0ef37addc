// SPDX-License-Identifier: Apache-2.0
#include "models/planner/search.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <thread>

#include "models/schedules/registry.hpp"
#include "sim/units/check.hpp"

namespace weft::model {
namespace {

// Enough for two cores to have work between two looks at the incumbent; part of what a result depends on.
constexpr std::size_t batch_size = 32;
constexpr std::size_t kept = 10;

// A point of the space with what is known before it is simulated.
struct Point {
  ScheduleChoice choice;
  Duration bound;
  std::size_t order = 0;  // of the catalogue, serial first
};

// What simulating a point gave.
struct Outcome {
  std::optional<Figures> figures;
  std::string deadlock;
};

// Runs `work(i)` for every i on `threads` threads; the first exception is thrown again here.
void in_parallel(std::size_t count, unsigned threads,
                 const std::function<void(std::size_t)>& work) {
  threads = static_cast<unsigned>(std::min<std::size_t>(threads, count));
  if (threads <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      try {
        for (std::size_t i = next++; i < count; i = next++) work(i);
      } catch (...) {
        failures[t] = std::current_exception();
        next = count;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

std::vector<const Schedule*> allowed(const SearchOptions& options) {
  std::vector<const Schedule*> schedules = all_schedules();
  std::stable_sort(schedules.begin(), schedules.end(), [](const Schedule* a, const Schedule* b) {
    return (a->info().name == "serial") > (b->info().name == "serial");
  });
  if (!options.schedules.empty()) {
    std::erase_if(schedules, [&](const Schedule* schedule) {
      const std::string& name = schedule->info().name;
      return name != "serial" && std::find(options.schedules.begin(), options.schedules.end(),
                                           name) == options.schedules.end();
    });
  }
  return schedules;
}

// Knobs to try: what the schedule's own predictor nominates, if no knob of it is pinned, else every combination.
std::vector<Knobs> candidates(const Schedule& schedule, const Boundary& boundary, const Site& site,
                              const Knobs& fixed, BoundarySearch& result) {
  const auto pins = [&](const KnobSpec& knob) { return fixed.has(knob.name); };
  const std::vector<KnobSpec>& specs = schedule.info().knobs;
  if (std::none_of(specs.begin(), specs.end(), pins)) {
    if (auto nomination = schedule.nominate(boundary, site)) {
      WEFT_CHECK(nomination->points.size() <= most_nominated, "{} nominates {} points",
                 schedule.info().name, nomination->points.size());
      result.nominations.push_back({schedule.info().name, nomination->predictor,
                                    nomination->considered,
                                    static_cast<std::int64_t>(nomination->points.size())});
      return std::move(nomination->points);
    }
  }
  return all_combinations(specs, fixed);
}

// The legal points, each of its equals once, with how many there are of each kind.
std::vector<Point> enumerate(const Boundary& boundary, const Site& site,
                             const SearchOptions& options, bool bounded, BoundarySearch& result) {
  std::vector<Point> points;
  std::map<std::string, std::int64_t> refusals;
  for (const Schedule* schedule : allowed(options)) {
    std::map<std::string, bool> seen;
    for (Knobs& knobs : candidates(*schedule, boundary, site, options.fixed, result)) {
      const std::vector<std::string> broken = schedule->refusals(boundary, knobs, site);
      if (!broken.empty()) {
        ++result.illegal;
        ++refusals[broken.front()];
        continue;
      }
      ++result.count.space;
      Knobs normal = schedule->normalised(boundary, knobs, site);
      if (!seen.emplace(normal.to_text(), true).second) {
        ++result.count.equivalent;
        continue;
      }
      Point point{{schedule, std::move(normal)}, {}, points.size()};
      if (bounded) point.bound = schedule->lower_bound(boundary, point.choice.knobs, site);
      points.push_back(std::move(point));
    }
  }
  const auto most =
      std::max_element(refusals.begin(), refusals.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != refusals.end()) result.most_common_refusal = most->first;
  return points;
}

Outcome simulate(const Boundary& boundary, const ScheduleChoice& choice, const Site& site,
                 const sim::Effects& effects) {
  try {
    return {overlapped_only(boundary, choice, site, effects), {}};
  } catch (const sim::DeadlockError& deadlock) {
    return {std::nullopt, deadlock.what()};
  }
}

}  // namespace

SearchCount& SearchCount::operator+=(const SearchCount& other) {
  space += other.space;
  simulated += other.simulated;
  equivalent += other.equivalent;
  pruned += other.pruned;
  return *this;
}

BoundarySearch search(const Boundary& boundary, const Site& site, const sim::Effects& effects,
                      const SearchOptions& options) {
  BoundarySearch result;
  // Bounds are proven with every effect on; a fidelity that leaves some out may beat them.
  const bool bounded = !options.exhaustive && effects == sim::effects_of(sim::Fidelity::contended);
  std::vector<Point> points = enumerate(boundary, site, options, bounded, result);
  WEFT_CHECK(!points.empty() && points.front().choice.schedule->info().name == "serial",
             "the serial schedule is legal everywhere, and is missing for \"{}\"", boundary.name);
  // Serial is the yardstick and goes first; the others by bound.
  std::sort(points.begin() + 1, points.end(), [](const Point& a, const Point& b) {
    return std::pair(a.bound, a.order) < std::pair(b.bound, b.order);
  });

  struct Kept {
    std::size_t order;
    Candidate candidate;
  };
  std::vector<Kept> best;
  const unsigned hardware = std::max(1U, std::thread::hardware_concurrency());
  const unsigned threads = options.threads == 0 ? hardware : options.threads;
  std::size_t done = 0;
  while (done < points.size()) {
    if (options.progress && !options.progress(static_cast<std::int64_t>(done),
                                              static_cast<std::int64_t>(points.size()))) {
      throw SearchStopped();
    }
    // Serial alone first: with it there is something to beat.
    const std::size_t end = done == 0 ? 1 : std::min(points.size(), done + batch_size);
    if (bounded && best.size() == kept &&
        points[done].bound > best.back().candidate.figures.overlapped) {
      result.count.pruned += static_cast<std::int64_t>(points.size() - done);
      break;
    }
    std::vector<Outcome> outcomes(end - done);
    in_parallel(end - done, threads, [&](std::size_t i) {
      outcomes[i] = simulate(boundary, points[done + i].choice, site, effects);
    });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      ++result.count.simulated;
      if (!outcomes[i].figures) {
        if (result.deadlocks++ == 0) result.first_deadlock = outcomes[i].deadlock;
        continue;
      }
      Candidate candidate{points[done + i].choice, std::move(*outcomes[i].figures)};
      if (done + i == 0) result.serial = candidate;
      best.push_back({points[done + i].order, std::move(candidate)});
    }
    std::sort(best.begin(), best.end(), [](const Kept& a, const Kept& b) {
      return std::pair(a.candidate.figures.overlapped, a.order) <
             std::pair(b.candidate.figures.overlapped, b.order);
    });
    if (best.size() > kept) best.erase(best.begin() + kept, best.end());
    done = end;
  }
  for (Kept& each : best) result.best.push_back(std::move(each.candidate));
  return result;
}

}  // namespace weft::model
