// SPDX-License-Identifier: Apache-2.0
// Completed activities a second of the whole engine at `contended`, records on. The goal is
// 4,000,000 on one core (BM_Actors); the time of an activity and its memory should not depend on
// how many there are (BM_ActorsBySize).
#include <array>
#include <cstdint>
#include <fstream>
#include <malloc.h>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/run.hpp"
#include "tests/bench/actors.hpp"

namespace weft::bench {
namespace {

/// Subscribes to everything and keeps nothing.
class NullSink : public sim::RecordSink {};

void time_runs(benchmark::State& state, const Actors& actors) {
  const sim::Machine machine = machine_of(actors);
  const sim::Program program = program_of(actors);
  const sim::RunOptions options{.effects = sim::effects_of(sim::Fidelity::contended), .races = {}};
  NullSink sink;
  const std::array<sim::RecordSink*, 1> sinks{&sink};
  sim::Workspace workspace;
  double end_seconds = 0;
  for (auto _ : state) {
    const sim::RunResult result = sim::run(machine, program, options, sinks, &workspace);
    end_seconds = static_cast<double>(result.end.ps()) * 1e-12;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(actors.activities()));
  state.counters["seed"] = static_cast<double>(actors.seed);
  state.counters["simulated_s"] = end_seconds;
}

void BM_Actors(benchmark::State& state) {
  time_runs(state, draw_actors(kActorsSeed, 8, static_cast<std::uint32_t>(state.range(0))));
}
BENCHMARK(BM_Actors)->Arg(20'000)->Unit(benchmark::kMillisecond);

// The kernel's mark of the most memory ever held, reset by writing 5 to clear_refs (proc(5)).
void reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

double peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

void BM_ActorsBySize(benchmark::State& state) {
  reset_peak();
  const double before = peak_bytes();
  const auto activities = static_cast<std::uint32_t>(state.range(0));
  const Actors actors = draw_actors(kActorsSeed, 8, activities / 16);
  time_runs(state, actors);
  const auto count = static_cast<double>(actors.activities());
  state.counters["bytes_per_activity"] = (peak_bytes() - before) / count;
  state.counters["ns_per_activity"] = benchmark::Counter(
      count * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_ActorsBySize)
    ->RangeMultiplier(10)
    ->Range(1'000, 10'000'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weft::bench
