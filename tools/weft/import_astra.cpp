// SPDX-License-Identifier: Apache-2.0
// `weft import` of an ASTRA-sim network: a machine file, and with the system layer the times of its
// all-reduce; of a Chakra trace: what is in it, and with a network how long it takes there.
#include <filesystem>
#include <map>
#include <ostream>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/json_writer.hpp"
#include "models/import/astra_program.hpp"
#include "models/import/chakra.hpp"
#include "sim/run.hpp"
#include "sim/units/format.hpp"
#include "tools/weft/import_formats.hpp"
#include "topologies/import/astra_network.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMebibytes[] = {1, 4, 8, 16};
constexpr Bytes kLargestAstraConfig = Bytes::from(1 << 20);
constexpr Bytes kLargestTrace = Bytes::from(std::int64_t{256} << 20);
constexpr std::size_t kMostTraces = 4096;

topology::AstraSystem system_of(const std::string& file, Context& context) {
  topology::AstraSystem system =
      topology::read_astra_system(config::read_text(file, kLargestAstraConfig), file);
  print_notes(system.notes, context);
  return system;
}

topology::AstraNetwork network_of(const std::string& file, Context& context) {
  topology::AstraNetwork network =
      topology::read_astra_network(config::read_text(file, kLargestAstraConfig), file);
  print_notes(network.notes, context);
  return network;
}

void run_all_reduces(const topology::AstraNetwork& network, const topology::AstraSystem& system,
                     Context& context) {
  for (const std::int64_t size : kMebibytes) {
    const Bytes message = Bytes::from(size << 20);
    const model::AstraCollective built =
        model::astra_collective(network, system, model::ChakraCollective::all_reduce, message);
    const sim::RunResult result = sim::run(built.machine, built.program, {}, {});
    context.err << fmt::format("all-reduce of {}: {}\n", message, result.end);
  }
}

/// The traces of the other NPUs: of "x.0.et" those of "x.1.et", "x.2.et", ... as far as they go.
std::vector<fs::path> others_of(const std::string& name) {
  const fs::path file(name);
  const std::string stem = file.stem().string();
  std::vector<fs::path> files;
  if (!stem.ends_with(".0")) return files;
  const std::string prefix = stem.substr(0, stem.size() - 1);
  for (std::size_t npu = 1; npu < kMostTraces; ++npu) {
    fs::path next =
        file.parent_path() / fmt::format("{}{}{}", prefix, npu, file.extension().string());
    if (!fs::is_regular_file(next)) break;
    files.push_back(std::move(next));
  }
  return files;
}

config::Value summary_of(const std::vector<model::ChakraTrace>& traces) {
  const model::ChakraTrace& first = traces.front();
  std::map<std::string, std::int64_t> kinds, bytes;
  for (const model::ChakraNode& node : first.nodes) {
    ++kinds[std::string(name_of(node.kind))];
    if (node.kind == model::ChakraKind::collective)
      bytes[std::string(name_of(node.collective))] += node.bytes;
  }
  const auto object = [](const std::map<std::string, std::int64_t>& counts) {
    config::Value value = config::Value::object();
    for (const auto& [name, count] : counts) value.set(name, count);
    return value;
  };
  return config::Value::object({{"schema", "weft.trace_summary/1"},
                                {"traces", static_cast<std::int64_t>(traces.size())},
                                {"version", first.version},
                                {"nodes", object(kinds)},
                                {"collective_bytes", object(bytes)}});
}

/// Exposed is what is not under NPU 0's compute nodes, as ASTRA-sim counts it.
void run_trace(const std::vector<model::ChakraTrace>& traces, const std::string& file,
               const ImportInput& input, config::Value& summary, Context& context) {
  const topology::AstraNetwork network = network_of(file, context);
  topology::AstraSystem system;
  if (input.options.with) {
    system = system_of(*input.options.with, context);
  } else {
    context.err << "note: no system layer (--with): rings, one chunk\n";
  }
  try {
    const model::AstraTrace run = model::astra_trace(network, system, traces);
    for (const std::string& note : run.notes) context.err << "note: " << note << '\n';
    const Duration time = sim::run(run.machine, run.program, {}, {}).end - TimePoint();
    context.err << fmt::format("the trace takes {}, {} of it not under compute\n", time,
                               time - run.compute);
    summary.set("time", fmt::format("{}", time));
    summary.set("compute", fmt::format("{}", run.compute));
    summary.set("exposed", fmt::format("{}", time - run.compute));
  } catch (const std::invalid_argument& fault) {
    throw UsageError(fault.what());
  } catch (const sim::DeadlockError& fault) {
    throw UsageError(fmt::format("{}: the NPUs wait for each other: {}", input.name, fault.what()));
  }
}

}  // namespace

ExitCode import_astra(const ImportInput& input, Context& context) {
  const topology::AstraNetwork network = topology::read_astra_network(input.text, input.name);
  print_notes(network.notes, context);
  try {
    if (input.options.with)
      run_all_reduces(network, system_of(*input.options.with, context), context);
  } catch (const std::invalid_argument& fault) {
    throw UsageError(fmt::format("{}: {}", input.name, fault.what()));
  }
  const std::string name = fs::path(input.name).filename().string();
  config::Value machine;
  try {
    machine = topology::machine_of(network, name);
  } catch (const std::invalid_argument& fault) {
    throw UsageError(fmt::format("{}: {}", input.name, fault.what()));
  }
  context.err << "unknown: profile, device and hosts, which ASTRA-sim does not have\n";
  deliver(config::to_json(machine), input, context);
  return ExitCode::ok;
}

ExitCode import_astra_system(const ImportInput& input, Context& context) {
  const topology::AstraSystem system = topology::read_astra_system(input.text, input.name);
  print_notes(system.notes, context);
  context.err << fmt::format("a system layer: {} chunks in flight of {} splits\n",
                             system.active_chunks, system.splits);
  if (!input.options.network) {
    context.err << "note: it says no time alone: name its network with --network\n";
    return ExitCode::ok;
  }
  try {
    run_all_reduces(network_of(*input.options.network, context), system, context);
  } catch (const std::invalid_argument& fault) {
    throw UsageError(fmt::format("{}: {}", *input.options.network, fault.what()));
  }
  return ExitCode::ok;
}

ExitCode import_chakra(const ImportInput& input, Context& context) {
  std::vector<model::ChakraTrace> traces = {model::read_chakra(input.text, input.name)};
  for (const fs::path& file : others_of(input.name)) {
    traces.push_back(model::read_chakra(config::read_text(file, kLargestTrace), file.string()));
  }
  for (const model::ChakraTrace& trace : traces) print_notes(trace.notes, context);
  config::Value summary = summary_of(traces);
  if (input.options.network) {
    run_trace(traces, *input.options.network, input, summary, context);
  } else if (input.options.with) {
    throw UsageError("a system layer says nothing without --network");
  }
  deliver(config::to_json(summary), input, context);
  return ExitCode::ok;
}

}  // namespace weft::tool
