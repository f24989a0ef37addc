// SPDX-License-Identifier: Apache-2.0
// What the solver and the queue cost alone: the ceiling of an engine that uses them.
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "sim/queue/event_key.hpp"
#include "sim/queue/event_queue.hpp"
#include "sim/solver/fair_share.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t kSeed = 2024;
constexpr std::uint64_t kLinkBytesPerSecond = 50'000'000'000;

// The traffic of the `actors` benchmark without host threads, streams and records: 8 actors
// alternate a computation of their own and a transfer over a link of their own and one switch.
void BM_ActorsOnSolverAndQueue(benchmark::State& state) {
  constexpr std::uint32_t kActors = 8;
  const auto rounds = static_cast<std::uint32_t>(state.range(0));
  struct Actor {
    ActivityId flow{0};
    Progress progress;
    EventHandle end;
    std::uint32_t round = 0;
    bool transfers = false;
  };
  for (auto _ : state) {
    FairShare solver;
    EventQueue<EventKey, std::uint32_t> queue;
    std::mt19937 random(kSeed);
    std::vector<Actor> actors(kActors);
    const ResourceId core = solver.add_resource(kActors * kLinkBytesPerSecond / 10 * 8);
    const auto place = [](std::uint32_t actor) { return EventPlace{.device = actor}; };
    const auto compute = [&](std::uint32_t a) {
      actors[a].transfers = false;
      const auto ps = static_cast<std::int64_t>(50'000'000 + random() % 100'000'000);
      actors[a].end = queue.schedule({queue.now() + Duration::from_ps(ps), place(a)}, a);
    };
    for (std::uint32_t a = 0; a < kActors; ++a) {
      const ResourceUse uses[] = {{solver.add_resource(kLinkBytesPerSecond), 1}, {core, 1}};
      actors[a].flow = solver.add({.uses = uses, .multiplicity = 0});
      compute(a);
    }
    while (const auto event = queue.pop()) {
      Actor& actor = actors[event->payload];
      if (!actor.transfers) {
        actor.transfers = true;
        actor.progress =
            Progress(2'500'000 + random() % 5'000'000, solver.scale(actor.flow), queue.now());
        actor.end = queue.schedule({TimePoint::max(), place(event->payload)}, event->payload);
        solver.set_multiplicity(actor.flow, 1);
      } else {
        solver.set_multiplicity(actor.flow, 0);
        if (++actor.round < rounds) compute(event->payload);
      }
      for (const ActivityId changed : solver.solve()) {
        Actor& other = actors[changed.value()];
        other.progress.set_pace(solver.pace(changed), queue.now());
        queue.reschedule(other.end, {other.progress.end(), place(changed.value())});
      }
    }
    benchmark::DoNotOptimize(queue.now());
  }
  state.SetItemsProcessed(state.iterations() * 2 * kActors * rounds);
}
BENCHMARK(BM_ActorsOnSolverAndQueue)->Arg(20'000)->Unit(benchmark::kMillisecond);

// Flows come and go on one resource with `k` others: the cost of a start or an end.
void BM_ChurnOnOneLink(benchmark::State& state) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  FairShare solver;
  const ResourceUse link[] = {{solver.add_resource(kLinkBytesPerSecond), 1}};
  std::vector<ActivityId> flows;
  for (std::uint32_t i = 0; i < k; ++i) flows.push_back(solver.add({.uses = link}));
  std::size_t next = 0;
  for (auto _ : state) {
    solver.remove(flows[next]);
    flows[next] = solver.add({.uses = link});
    next = (next + 1) % k;
    benchmark::DoNotOptimize(solver.solve().size());
  }
}
BENCHMARK(BM_ChurnOnOneLink)->Arg(1)->Arg(8)->Arg(64)->Arg(512);

// `k` events pending; each that happens is scheduled again at a random later time.
void BM_QueueHold(benchmark::State& state) {
  const auto k = static_cast<std::uint32_t>(state.range(0));
  EventQueue<EventKey, std::uint32_t> queue;
  std::mt19937 random(kSeed);
  const auto later = [&](std::uint32_t i) {
    return EventKey(
        queue.now() + Duration::from_ps(static_cast<std::int64_t>(random() % 1'000'000)),
        {.range = i});
  };
  for (std::uint32_t i = 0; i < k; ++i) queue.schedule(later(i), i);
  for (auto _ : state) {
    const std::uint32_t i = queue.pop()->payload;
    queue.schedule(later(i), i);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_QueueHold)->Arg(16)->Arg(1'000)->Arg(1'000'000);

}  // namespace
}  // namespace weft::sim
