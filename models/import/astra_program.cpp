// SPDX-License-Identifier: Apache-2.0
#include "models/import/astra_program.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "sim/program_builder.hpp"

namespace weft::model {
namespace {

using namespace weft::literals;
using topology::AstraShape;

constexpr std::int64_t kMostRanksOfProgram = 4096;
constexpr std::int64_t kMostCalls = std::int64_t{1} << 20;
// Far above any link: ASTRA-sim's network does not wait for memories.
constexpr Bandwidth kUnbounded = Bandwidth::from_bytes_per_second(std::int64_t{1} << 50);

/// What an algorithm does to a message on one link pair.
struct Algorithm {
  std::int64_t steps = 0;
  std::int64_t numerator = 0;  ///< over the ranks: of a chunk's bytes, on a port each way
};

Algorithm algorithm_of(const std::string& name, std::int64_t ranks, AstraShape shape) {
  if (name == "ring") return {2 * (ranks - 1), 2 * (ranks - 1)};
  if ((name == "direct" || name == "oneDirect") && shape != AstraShape::ring) {
    // To all peers at once; where each has a link of its own, that link carries one shard twice.
    return {2, shape == AstraShape::fully_connected ? 2 : 2 * (ranks - 1)};
  }
  if (name == "halvingDoubling" && shape == AstraShape::fabric_switch &&
      std::has_single_bit(static_cast<std::uint64_t>(ranks))) {
    const int log2 = std::countr_zero(static_cast<std::uint64_t>(ranks));
    return {2 * log2, 2 * (ranks - 1)};
  }
  throw std::invalid_argument(
      fmt::format("all-reduce by \"{}\" over {} ranks of this shape is not modelled (ring; direct "
                  "but on a ring; "
                  "halvingDoubling of a power of two on a switch)",
                  name, ranks));
}

sim::Machine machine_of_ports(std::uint32_t ranks, Bandwidth port, int slots) {
  sim::Machine machine;
  machine.processes.push_back(
      {.name = "process", .launch_cost = {}, .graph_launch_cost = {}, .max_connections = 32});
  for (std::uint32_t r = 0; r < ranks; ++r) {
    sim::Device device{.name = fmt::format("npu{}", r),
                       .sms = {.sms_per_gpc = {1},
                               .per_sm = {.threads = 32 * slots,
                                          .registers = 65536,
                                          .shared_memory = 64_KiB,
                                          .cta_slots = slots}},
                       .memory = sim::MemoryId(r),
                       .l2 = {},
                       .engines = {},
                       .interference = {}};
    device.engines.emplace_back();
    machine.devices.push_back(std::move(device));
    machine.memories.push_back({.name = fmt::format("npu{}.memory", r),
                                .device = sim::DeviceId(r),
                                .bandwidth = kUnbounded,
                                .size = {}});
    for (const char* way : {"out", "in"}) {
      machine.links.push_back(
          {.name = fmt::format("npu{}.{}", r, way), .capacity_per_direction = port, .latency = {}});
    }
    machine.ranks.push_back(
        {.device = sim::DeviceId(r), .process = sim::ProcessId(0), .sms_per_gpc = {}});
  }
  return machine;
}

}  // namespace

AstraCollective astra_all_reduce(const topology::AstraNetwork& network,
                                 const topology::AstraSystem& system, Bytes message) {
  if (network.dimensions.size() != 1) {
    throw std::invalid_argument(fmt::format("a network of {} dimensions is not modelled: one is",
                                            network.dimensions.size()));
  }
  const topology::AstraDimension& dimension = network.dimensions.front();
  if (dimension.npus < 2 || dimension.npus > kMostRanksOfProgram || message.count() <= 0) {
    throw std::invalid_argument(fmt::format("{} of {} ranks is no all-reduce that is modelled",
                                            message.count(), dimension.npus));
  }
  if (dimension.npus * system.splits > kMostCalls) {
    throw std::invalid_argument(
        fmt::format("{} chunks on {} ranks are too many", system.splits, dimension.npus));
  }
  const auto ranks = static_cast<std::uint32_t>(dimension.npus);
  const std::string name = system.all_reduce.empty() ? "ring" : system.all_reduce.front();
  const Algorithm algorithm = algorithm_of(name, dimension.npus, dimension.shape);
  const std::int64_t hops = dimension.shape == AstraShape::fabric_switch ? 2 : 1;
  const auto active = static_cast<int>(std::min(system.active_chunks, system.splits));

  AstraCollective result;
  result.machine = machine_of_ports(ranks, dimension.bandwidth_per_direction, active);
  sim::ProgramBuilder builder;
  std::vector<std::vector<sim::StreamId>> streams(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (int i = 0; i < active; ++i) streams[r].push_back(builder.stream(sim::RankId(r)));
  }
  sim::CallWriter calls = builder.thread(sim::ProcessId(0));
  std::int64_t given = 0;
  for (std::int64_t chunk = 0; chunk < system.splits; ++chunk) {
    const std::int64_t upto = message.count() / system.splits * (chunk + 1) +
                              message.count() % system.splits * (chunk + 1) / system.splits;
    const Bytes bytes = Bytes::from(std::max<std::int64_t>(1, upto - given));
    given = upto;
    sim::GangWriter gang = builder.gang("all-reduce", bytes, kUnbounded);
    gang.denominator(dimension.npus).start_latency(dimension.latency * (algorithm.steps * hops));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      gang.member(sim::RankId(r))
          .link(sim::LinkId(2 * r), algorithm.numerator)
          .link(sim::LinkId(2 * r + 1), algorithm.numerator);
    }
    const sim::GangId id = gang.id();
    const auto lane = static_cast<std::size_t>(chunk % active);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const sim::KernelId kernel =
          builder.gang_kernel("chunk", id, r, 1).footprint({.threads = 32}).id();
      calls.launch(streams[r][lane], kernel);
    }
  }
  result.program = builder.finish();
  return result;
}

}  // namespace weft::model
