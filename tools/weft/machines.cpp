// SPDX-License-Identifier: Apache-2.0
// `weft machines`: what machine files there are, and what one of them says.
#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "configs/reader/error.hpp"
#include "configs/reader/json_writer.hpp"
#include "sim/units/format.hpp"
#include "tools/weft/commands.hpp"
#include "topologies/build.hpp"
#include "topologies/read_machine.hpp"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;
using config::Value;

std::int64_t sms_of(const topology::MachineSpec& spec) {
  const auto& gpcs = spec.device.sms_per_gpc.value;
  return std::accumulate(gpcs.begin(), gpcs.end(), std::int64_t{0});
}

Value to_value(const std::string& name, const topology::MachineSpec& spec) {
  return Value::object({{"name", name},
                        {"title", spec.name},
                        {"file", spec.file},
                        {"profile", spec.profile},
                        {"device", spec.device.name},
                        {"nodes", spec.nodes},
                        {"devices_per_node", topology::devices_per_node(spec)},
                        {"sms", sms_of(spec)},
                        {"memory_bytes", spec.device.memory_size.value.count()}});
}

std::string show(const topology::MachineFile& machine) {
  const topology::MachineSpec& spec = machine.spec;
  std::string text = fmt::format("{} ({})\n", spec.name, spec.file);
  text += fmt::format("  {} node(s) of {} x {}: {} SMs in GPCs of {}, {} of memory at {}\n",
                      spec.nodes, topology::devices_per_node(spec), spec.device.name, sms_of(spec),
                      fmt::join(spec.device.sms_per_gpc.value, " "), spec.device.memory_size.value,
                      spec.device.memory_bandwidth.value);
  const auto links = [&](const std::vector<topology::LinkSpec>& all) {
    for (const topology::LinkSpec& link : all) {
      text +=
          fmt::format("  {} {} {}  {} per direction, {}\n", link.from, link.duplex ? "<->" : "->",
                      link.to, link.bandwidth_per_direction.value, link.latency.value);
    }
  };
  links(spec.node.links);
  links(spec.spine.links);
  text += fmt::format("  profile {}\n", spec.profile);
  for (const config::SourcedUse& use : machine.sources) {
    if (use.source_kind == "assumed") {
      text += fmt::format("  assumed: {} = {} ({})\n", use.json_pointer, use.value, use.reference);
    }
  }
  return text;
}

}  // namespace

ExitCode machines(const MachinesOptions& options, Context& context) {
  if (options.name) {
    const fs::path file = config_file("machines", *options.name, context);
    const topology::MachineFile machine = topology::read_machine(file, context.search);
    context.out << (context.format == Format::json
                        ? config::to_json(to_value(file.stem().string(), machine.spec))
                        : show(machine));
    return ExitCode::ok;
  }
  Value list = Value::array();
  for (const auto& [name, file] : config_files("machines", context)) {
    const topology::MachineSpec spec = topology::read_machine(file, context.search).spec;
    if (context.format == Format::json) {
      list.push(to_value(name, spec));
    } else {
      context.out << fmt::format("{:<14} {}\n", name, spec.name);
    }
  }
  if (context.format == Format::json) context.out << config::to_json(list);
  return ExitCode::ok;
}

}  // namespace weft::tool
