// SPDX-License-Identifier: Apache-2.0
// What a plan costs: one boundary built and simulated, as the search folds it and with all of its
// ranks, and the points of an exhaustive search a second.
//
// The boundary is AG+GEMM of 8 ranks, M 8192, N 3584 a rank, K 8192, on 8 H200, in 8 chunks. Goals,
// in CPU time: 100 us folded and 1,500 us unfolded (BM_Run; BM_Build is what comes before a run), and
// 5,000 contended simulations a second on one core, their building included (BM_Exhaustive).
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "models/planner/evaluate.hpp"
#include "models/planner/ground.hpp"
#include "models/planner/search.hpp"
#include "models/schedules/registry.hpp"
#include "models/workloads/boundary.hpp"
#include "sim/fold.hpp"
#include "sim/run.hpp"
#include "topologies/build.hpp"

namespace weft::bench {
namespace {

using model::Boundary;
using model::ScheduleChoice;
using model::Site;

constexpr int kRanks = 8;
constexpr std::int64_t kChunks = 8;

Site h200_site() {
  const std::filesystem::path configs(WEFT_BENCH_CONFIGS);
  const config::SearchPath path{.configs = {configs}, .installed = std::nullopt};
  const model::Ground ground =
      model::read_ground((configs / "machines/h200x8.json").string(), std::nullopt, path);
  return model::make_site(ground.machine, ground.profile,
                          topology::packed_places(ground.machine, kRanks));
}

Boundary ag_gemm() {
  const TensorFormat format{};
  return model::make_boundary(model::BoundaryKind::ag_gemm, {8192, 3584 * kRanks, 8192}, format,
                              kRanks);
}

// The schedules' usual knobs, cut into eight.
constexpr std::array kChoices{"chunked", "device_flag"};
constexpr std::array kTransports{"copy_engine", "sm"};

ScheduleChoice choice_of(const benchmark::State& state) {
  const model::Schedule* schedule =
      model::find_schedule(kChoices.at(static_cast<std::size_t>(state.range(0))));
  if (schedule == nullptr) throw std::logic_error("the schedules are not linked");
  ScheduleChoice choice{schedule, model::Knobs(schedule->info().knobs)};
  choice.knobs.set("chunks", kChunks);
  choice.knobs.set("transport",
                   std::string(kTransports.at(static_cast<std::size_t>(state.range(1)))));
  return choice;
}

void say(benchmark::State& state) {
  state.SetLabel(std::string(kChoices.at(static_cast<std::size_t>(state.range(0)))) + " by " +
                 kTransports.at(static_cast<std::size_t>(state.range(1))));
}

void BM_Build(benchmark::State& state) {
  const Site site = h200_site();
  const Boundary boundary = ag_gemm();
  const ScheduleChoice choice = choice_of(state);
  const bool folds = state.range(2) != 0;
  for (auto _ : state) {
    const sim::Program program = model::boundary_program(boundary, choice, site);
    if (folds) benchmark::DoNotOptimize(sim::fold(site.built.machine, program).ranks_folded);
    benchmark::DoNotOptimize(program.events);
  }
  say(state);
}
BENCHMARK(BM_Build)
    ->ArgNames({"schedule", "transport", "fold"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

void BM_Run(benchmark::State& state) {
  const Site site = h200_site();
  const sim::Program program = model::boundary_program(ag_gemm(), choice_of(state), site);
  const sim::Folded folded = sim::fold(site.built.machine, program);
  if (!folded.refused.empty()) throw std::logic_error(folded.refused);
  const bool folds = state.range(2) != 0;
  const sim::Machine& machine = folds ? folded.machine : site.built.machine;
  const sim::Program& runs = folds ? folded.program : program;
  sim::Workspace workspace;
  std::uint64_t activities = 0;
  for (auto _ : state) activities = sim::run(machine, runs, {}, {}, &workspace).activities;
  state.counters["activities"] = static_cast<double>(activities);
  say(state);
}
BENCHMARK(BM_Run)
    ->ArgNames({"schedule", "transport", "folded"})
    ->ArgsProduct({{0, 1}, {0, 1}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

// Every point of the boundary's space, bounds off, on one thread.
void BM_Exhaustive(benchmark::State& state) {
  const Site site = h200_site();
  const Boundary boundary = ag_gemm();
  model::SearchOptions options;
  options.exhaustive = true;
  options.threads = 1;
  const sim::Effects effects = sim::effects_of(sim::Fidelity::contended);
  std::int64_t simulated = 0;
  for (auto _ : state) simulated += model::search(boundary, site, effects, options).count.simulated;
  state.SetItemsProcessed(simulated);
}
BENCHMARK(BM_Exhaustive)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace weft::bench
