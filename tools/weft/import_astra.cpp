// SPDX-License-Identifier: Apache-2.0
// `weft import` of an ASTRA-sim network: a machine file, and with the system layer the times of its
// all-reduce.
#include <filesystem>
#include <ostream>
#include <stdexcept>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/import/astra_program.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"
#include "tools/weft/import_formats.hpp"
#include "topologies/import/astra_network.hpp"

namespace weft::tool {
namespace {

constexpr std::int64_t kMebibytes[] = {1, 4, 8, 16};

void run_all_reduces(const topology::AstraNetwork& network, const std::string& file,
                     Context& context) {
  const topology::AstraSystem system =
      topology::read_astra_system(config::read_text(file, Bytes::from(1 << 20)), file);
  print_notes(system.notes, context);
  for (const std::int64_t size : kMebibytes) {
    const Bytes message = Bytes::from(size << 20);
    const model::AstraCollective built = model::astra_all_reduce(network, system, message);
    const sim::RunResult result = sim::run(built.machine, built.program, {}, {});
    context.err << fmt::format("all-reduce of {}: {}\n", message, result.end);
  }
}

}  // namespace

ExitCode import_astra(const ImportInput& input, Context& context) {
  const topology::AstraNetwork network = topology::read_astra_network(input.text, input.name);
  print_notes(network.notes, context);
  try {
    if (input.options.with) run_all_reduces(network, *input.options.with, context);
  } catch (const std::invalid_argument& fault) {
    throw UsageError(fmt::format("{}: {}", input.name, fault.what()));
  }
  if (network.dimensions.size() != 1) {
    throw UsageError(
        fmt::format("{}: a network of {} dimensions is read, but no machine is made of it yet",
                    input.name, network.dimensions.size()));
  }
  const std::string name = std::filesystem::path(input.name).filename().string();
  context.err << "unknown: profile, device and hosts, which ASTRA-sim does not have\n";
  deliver(config::to_json(topology::machine_of(network, name)), input, context);
  return ExitCode::ok;
}

}  // namespace weft::tool
