// SPDX-License-Identifier: Apache-2.0
#include "models/planner/search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <unordered_set>
#include <utility>

#include "models/planner/workers.hpp"
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
  bool overlaps = false;
};

// What simulating a point gave.
struct Outcome {
  std::optional<Figures> figures;
  std::string deadlock;
};

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
      // As a model of costs the predictor has the last word: its favourite alone.
      if (site.prices->model() == CostModel::flashoverlap && nomination->points.size() > 1)
        nomination->points.resize(1);
      result.nominations.push_back(
          {schedule.info().name, nomination->predictor, nomination->considered,
           static_cast<std::int64_t>(nomination->points.size()), nomination->expected});
      return std::move(nomination->points);
    }
  }
  return all_combinations(specs, fixed);
}

// One combination of knobs: the first rule that it breaks, or what it amounts to.
struct Combination {
  std::optional<std::string> refusal;
  Knobs normal;
  std::string text;  // of `normal`
};

// Combinations that one thread takes at a time.
constexpr std::size_t block_size = 64;

std::vector<Combination> examine(const Schedule& schedule, const Boundary& boundary,
                                 const Site& site, const std::vector<Knobs>& all,
                                 Workers& workers) {
  std::vector<Combination> result(all.size());
  workers.run((all.size() + block_size - 1) / block_size, [&](std::size_t block, unsigned) {
    const std::size_t end = std::min(all.size(), (block + 1) * block_size);
    for (std::size_t i = block * block_size; i < end; ++i) {
      std::vector<std::string> broken = schedule.refusals(boundary, all[i], site);
      if (!broken.empty()) {
        result[i].refusal = std::move(broken.front());
        continue;
      }
      result[i].normal = schedule.normalised(boundary, all[i], site);
      result[i].text = result[i].normal.to_text();
    }
  });
  return result;
}

// The legal points, each of its equals once, with how many there are of each kind.
std::vector<Point> enumerate(const Boundary& boundary, const Site& site,
                             const SearchOptions& options, bool bounded, Workers& workers,
                             BoundarySearch& result) {
  std::vector<Point> points;
  std::map<std::string, std::int64_t> refusals;
  for (const Schedule* schedule : allowed(options)) {
    std::unordered_set<std::string> seen;
    const std::vector<Knobs> all = candidates(*schedule, boundary, site, options.fixed, result);
    for (Combination& each : examine(*schedule, boundary, site, all, workers)) {
      if (each.refusal) {
        ++result.illegal;
        ++refusals[*each.refusal];
        continue;
      }
      ++result.count.space;
      const bool overlaps = schedule->overlaps(boundary, each.normal, site);
      if (overlaps) ++result.overlapping;
      if (!seen.insert(std::move(each.text)).second) {
        ++result.count.equivalent;
        continue;
      }
      points.push_back({{schedule, std::move(each.normal)}, {}, points.size(), overlaps});
    }
  }
  if (bounded) {
    workers.run(points.size(), [&](std::size_t i, unsigned) {
      const ScheduleChoice& choice = points[i].choice;
      points[i].bound = choice.schedule->lower_bound(boundary, choice.knobs, site);
    });
  }
  const auto most =
      std::max_element(refusals.begin(), refusals.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != refusals.end()) result.most_common_refusal = most->first;
  return points;
}

Outcome simulate(const Boundary& boundary, const ScheduleChoice& choice, const Site& site,
                 const sim::Effects& effects, Scratch& scratch) {
  try {
    return {overlapped_only(boundary, choice, site, effects, &scratch), {}};
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
  Workers workers(options.threads == 0 ? std::thread::hardware_concurrency() : options.threads);
  std::vector<Point> points = enumerate(boundary, site, options, bounded, workers, result);
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
  std::optional<Kept> best_overlapping;
  std::vector<Scratch> scratches(workers.threads());
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
    workers.run(end - done, [&](std::size_t i, unsigned thread) {
      outcomes[i] = simulate(boundary, points[done + i].choice, site, effects, scratches[thread]);
    });
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      ++result.count.simulated;
      if (!outcomes[i].figures) {
        if (result.deadlocks++ == 0) result.first_deadlock = outcomes[i].deadlock;
        continue;
      }
      Candidate candidate{points[done + i].choice, std::move(*outcomes[i].figures),
                          points[done + i].overlaps};
      if (done + i == 0) result.serial = candidate;
      if (candidate.overlaps &&
          (!best_overlapping || std::pair(candidate.figures.overlapped, points[done + i].order) <
                                    std::pair(best_overlapping->candidate.figures.overlapped,
                                              best_overlapping->order))) {
        best_overlapping = Kept{points[done + i].order, candidate};
      }
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
  if (best_overlapping) result.best_overlapping = std::move(best_overlapping->candidate);
  return result;
}

}  // namespace weft::model
