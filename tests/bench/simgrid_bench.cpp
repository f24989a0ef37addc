// SPDX-License-Identifier: Apache-2.0
// The twin: the same actors on the same platform in SimGrid (s4u), each an actor that computes on
// its host and then sends over its link and the shared switch.
//
// SimGrid's TCP corrections are switched off (factors of 1, no weight by latency, no window), which
// leaves its max-min fluid model: what weft computes.
#include <cstdint>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/actors.hpp"

namespace weft::bench {
namespace {

namespace s4u = simgrid::s4u;

constexpr double kFlopsPerSecond = 1e12;

struct Platform {
  std::vector<s4u::Host*> sources;
  std::vector<s4u::Host*> targets;
};

Platform build_platform(const Actors& actors) {
  Platform platform;
  s4u::NetZone* zone = s4u::create_full_zone("actors");
  const auto bytes_per_second = [](Bandwidth rate) {
    return static_cast<double>(rate.bytes_per_second());
  };
  s4u::Link* core = zone->create_link("core", bytes_per_second(actors.core))->seal();
  for (std::size_t a = 0; a < actors.rounds.size(); ++a) {
    const std::string name = std::to_string(a);
    s4u::Host* source = zone->create_host("source" + name, kFlopsPerSecond)->seal();
    s4u::Host* target = zone->create_host("target" + name, kFlopsPerSecond)->seal();
    s4u::Link* link = zone->create_link("link" + name, bytes_per_second(actors.link))->seal();
    zone->add_route(source->get_netpoint(), target->get_netpoint(), nullptr, nullptr,
                    {s4u::LinkInRoute(link), s4u::LinkInRoute(core)}, false);
    platform.sources.push_back(source);
    platform.targets.push_back(target);
  }
  zone->seal();
  return platform;
}

void BM_ActorsInSimGrid(benchmark::State& state) {
  const Actors actors = draw_actors(kActorsSeed, 8, static_cast<std::uint32_t>(state.range(0)));
  std::vector<std::string> words = {"bench",
                                    "--log=root.thresh:error",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=network/weight-S:0",
                                    "--cfg=network/TCP-gamma:0"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  const Platform platform = build_platform(actors);
  double simulated = 0;
  for (auto _ : state) {
    const double before = s4u::Engine::get_clock();
    for (std::size_t a = 0; a < actors.rounds.size(); ++a) {
      s4u::Host* source = platform.sources[a];
      s4u::Host* target = platform.targets[a];
      s4u::Actor::create("actor" + std::to_string(a), source, [&actors, a, source, target] {
        for (const Actors::Round& round : actors.rounds[a]) {
          s4u::this_actor::execute(static_cast<double>(round.computation.ps()) * 1e-12 *
                                   kFlopsPerSecond);
          s4u::Comm::sendto(source, target, static_cast<std::uint64_t>(round.transfer.count()));
        }
      });
    }
    engine.run();
    simulated = s4u::Engine::get_clock() - before;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(actors.activities()));
  state.counters["seed"] = static_cast<double>(actors.seed);
  state.counters["simulated_s"] = simulated;
}
// One run: SimGrid's engine is one a process and its clock never goes back.
BENCHMARK(BM_ActorsInSimGrid)->Arg(20'000)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace weft::bench
