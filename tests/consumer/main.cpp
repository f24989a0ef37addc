// SPDX-License-Identifier: Apache-2.0
// Uses an installed weft as another project would: reads an installed machine, writes a program of
// one kernel, runs it, and finds a schedule that registers itself.

#include <cstdio>

#include "models/schedules/registry.hpp"
#include "sim/program_builder.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"
#include "topologies/build.hpp"
#include "topologies/read_machine.hpp"

int main() {
  using namespace weft::literals;
  const auto file = weft::topology::read_machine(CONFIGS "/machines/h200x8.json");
  const auto built = weft::topology::build(file.spec, weft::topology::packed_places(file.spec, 1));

  weft::sim::ProgramBuilder builder;
  const auto stream = builder.stream(weft::sim::RankId(0));
  const auto kernel = builder.kernel("gemm", 1)
                          .role(weft::sim::Purpose::compute, weft::sim::TileOrder::static_shares)
                          .range(2, 30_us)
                          .id();
  builder.thread(weft::sim::ProcessId(0)).launch(stream, kernel);

  const auto result = weft::sim::run(built.machine, builder.finish());
  const auto took = result.end - weft::TimePoint{};
  std::printf("%s on %s\n", weft::human(took).c_str(), file.spec.name.c_str());
  const bool registered = weft::model::find_schedule("serial") != nullptr;
  return took >= 60_us && registered ? 0 : 1;
}
