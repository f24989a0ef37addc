// SPDX-License-Identifier: Apache-2.0
#include "models/planner/ground.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "configs/reader/document.hpp"
#include "configs/reader/error.hpp"
#include "models/profile/json.hpp"
#include "sim/units/format.hpp"
#include "topologies/import/astra_network.hpp"
#include "topologies/import/topo_matrix.hpp"
#include "topologies/read_machine.hpp"

namespace weft::model {
namespace {

/// Dumps say what is joined to what, and neither devices nor latencies: importing one asks for them.
void refuse_dumps(const std::string& machine_file) {
  std::ifstream in(machine_file, std::ios::binary);
  std::string text(std::size_t{64} << 10, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool xml = first != text.npos && text[first] == '<';
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  if (json || !(xml || topology::looks_like_topo_matrix(text) ||
                topology::looks_like_astra_network(text))) {
    return;
  }
  throw config::ConfigErrors(config::ConfigError{
      machine_file, 0, 0, "", "this is another tool's dump of a topology, not a machine file",
      "weft import FILE --complete-from MACHINE -o machine.json makes one of it"});
}

}  // namespace

std::filesystem::path find_profile(const std::string& name, const std::string& machine_file,
                                   const config::SearchPath& search) {
  // Beside the machine's folder, or in a folder of configs: a machine of one's own lies anywhere.
  for (const char* place : {"../profiles/{}.json", "profiles/{}.json"}) {
    const config::Resolution found =
        config::resolve(fmt::format(fmt::runtime(place), name), machine_file, search);
    if (found.file) return *found.file;
  }
  const auto meant = config::file_meant(name + ".json", "profiles", machine_file, search);
  throw config::ConfigErrors(config::ConfigError{
      machine_file, 0, 0, "/profile", fmt::format("there is no profile \"{}\"", name),
      fmt::format("{}a profile is a file in profiles/ beside the folder of the machine, or in a "
                  "folder that --configs names",
                  meant ? fmt::format("did you mean \"{}\"? ",
                                      std::filesystem::path(*meant).stem().string())
                        : "")});
}

Ground read_ground(const std::string& machine_file, const std::optional<std::string>& profile_file,
                   const config::SearchPath& search) {
  refuse_dumps(machine_file);
  Ground ground;
  topology::MachineFile machine = topology::read_machine(machine_file, search);
  ground.machine = std::move(machine.spec);
  for (config::SourcedUse& use : machine.sources) {
    if (use.source_kind == "assumed") ground.assumed.push_back(std::move(use));
  }
  const std::filesystem::path profile =
      profile_file ? std::filesystem::path(*profile_file)
                   : find_profile(ground.machine.profile, machine_file, search);
  const config::Document document = config::Document::load(profile);
  ground.profile = read_profile(document);
  std::vector<config::SourcedUse> assumed = assumed_numbers(document);
  ground.assumed.insert(ground.assumed.end(), assumed.begin(), assumed.end());
  return ground;
}

std::optional<std::string> uneven(const std::vector<topology::RankPlace>& places) {
  std::map<std::int64_t, std::int64_t> of_node;
  for (const topology::RankPlace& place : places) ++of_node[place.node];
  const auto [least, most] =
      std::minmax_element(of_node.begin(), of_node.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (of_node.empty() || least->second == most->second) return std::nullopt;
  return fmt::format(
      "{} ranks on {} nodes, {} on one and {} on another: collectives between nodes have as many "
      "ranks on each",
      places.size(), of_node.size(), most->second, least->second);
}

std::vector<topology::RankPlace> places_of(const topology::MachineSpec& machine, RankOrder order,
                                           int ranks, int gpus) {
  if (order == RankOrder::packed) return topology::packed_places(machine, ranks);
  const std::int64_t per_node = topology::devices_per_node(machine);
  const std::int64_t nodes = std::min<std::int64_t>(ranks, (gpus + per_node - 1) / per_node);
  return topology::scattered_places(machine, ranks, nodes);
}

void check_ranks(const Ground& ground, int ranks, const std::string& pointer,
                 const std::string& file) {
  const std::int64_t devices = topology::total_devices(ground.machine);
  if (ranks <= devices) return;
  throw config::ConfigErrors(config::ConfigError{
      file, 0, 0, pointer,
      fmt::format("{} GPUs are asked for and {} has {}", ranks, ground.machine.name, devices), ""});
}

Boundary boundary_of(const BoundaryScenario& wanted, const Ground& ground,
                     const std::string& file) {
  check_ranks(ground, wanted.ranks, "/boundary/ranks", file);
  const auto refuse = [&](const char* pointer, std::string why, std::string hint) {
    throw config::ConfigErrors(
        config::ConfigError{file, 0, 0, pointer, std::move(why), std::move(hint)});
  };
  const auto places = places_of(ground.machine, wanted.order, wanted.ranks, wanted.ranks);
  if (auto why = uneven(places))
    refuse("/boundary/ranks", std::move(*why), "ranks that fill nodes alike, or one node");
  Boundary boundary;
  try {
    boundary = make_boundary(wanted.kind, wanted.global, wanted.format, wanted.ranks);
  } catch (const std::exception& error) {
    refuse("/boundary", error.what(), "");
  }
  const Bytes needed = operands_of(boundary);
  const Bytes capacity = ground.machine.device.memory_size.value;
  if (needed > capacity) {
    refuse("/boundary",
           fmt::format("its operands and results are {} on each GPU, which has {}: {} short",
                       needed, capacity, needed - capacity),
           "fewer tokens (M) at a time, or more ranks");
  }
  return boundary;
}

}  // namespace weft::model
