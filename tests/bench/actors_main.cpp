// SPDX-License-Identifier: Apache-2.0
// Runs the actors' benchmarks and, where the twin was built, prints how much faster weft is.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/core.h>

namespace {

class RatioReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      // With repetitions their spread comes last: the figure is the last median, or the last run.
      if (run.run_type == Run::RT_Aggregate && run.aggregate_name != "median") continue;
      const auto rate = run.counters.find("items_per_second");
      if (rate != run.counters.end()) rates_[run.run_name.function_name] = rate->second.value;
    }
  }

  void Finalize() override {
    ConsoleReporter::Finalize();
    const auto weft = rates_.find("BM_Actors");
    const auto twin = rates_.find("BM_ActorsInSimGrid");
    if (weft == rates_.end()) return;
    fmt::print("weft: {:.2f} million completed activities a second (goal: 4.00)\n",
               weft->second * 1e-6);
    if (twin == rates_.end()) return;
    fmt::print("SimGrid: {:.2f} million; weft is {:.1f} times as fast\n", twin->second * 1e-6,
               weft->second / twin->second);
  }

 private:
  std::map<std::string, double> rates_;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
