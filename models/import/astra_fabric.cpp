// SPDX-License-Identifier: Apache-2.0
// Steps and bytes of an algorithm are those of ASTRA-sim's collective classes (system/collective/
// Ring.cc, Direct, HalvingDoubling.cc): the size of an all-gather is what an NPU starts with, that of
// the others what it holds.
#include "models/import/astra_fabric.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace weft::model {
namespace {

using namespace weft::literals;
using topology::AstraShape;

constexpr std::int64_t kMostRanksOfProgram = 4096;
constexpr std::int64_t kMostCalls = std::int64_t{1} << 20;
// Far above any link: ASTRA-sim's network does not wait for memories.
constexpr Bandwidth kUnbounded = Bandwidth::from_bytes_per_second(std::int64_t{1} << 50);
constexpr int kMostStreams = 1 << 20;  // ASTRA-sim's queues are one a chunk
constexpr int kThreadsOfPart = 32;
constexpr int kOtherSlots = 2;  // a compute node and one of the host beside what communicates

/// What an algorithm does to a message on one link pair.
struct Algorithm {
  std::int64_t steps = 0;
  std::int64_t numerator = 0;  ///< over the ranks: of a chunk's bytes, on a port each way
};

Algorithm ring_of(ChakraCollective op, std::int64_t n) {
  switch (op) {
    case ChakraCollective::all_reduce:
    case ChakraCollective::barrier:
      return {2 * (n - 1), 2 * (n - 1)};
    case ChakraCollective::reduce_scatter:
      return {n - 1, n - 1};
    case ChakraCollective::all_gather:
    case ChakraCollective::broadcast:
      return {n - 1, op == ChakraCollective::broadcast ? n : (n - 1) * n};
    case ChakraCollective::all_to_all:
      return {n * (n - 1) / 2, n * (n - 1) / 2};
  }
  return {};
}

Algorithm algorithm_of(ChakraCollective op, const std::string& name, std::int64_t n,
                       AstraShape shape) {
  const Algorithm ring = ring_of(op, n);
  if (name == "ring" || op == ChakraCollective::broadcast) return ring;
  const bool twice = op == ChakraCollective::all_reduce || op == ChakraCollective::barrier;
  if ((name == "direct" || name == "oneDirect") && shape != AstraShape::ring) {
    // To all peers at once; where each has a link of its own, that link carries one shard, or two.
    const std::int64_t shard = op == ChakraCollective::all_gather ? n : 1;
    const std::int64_t links = shape == AstraShape::fully_connected ? 1 : n - 1;
    return {twice ? 2 : 1, (twice ? 2 : 1) * links * shard};
  }
  if (name == "halvingDoubling" && shape == AstraShape::fabric_switch &&
      op != ChakraCollective::all_to_all && std::has_single_bit(static_cast<std::uint64_t>(n))) {
    const int log2 = std::countr_zero(static_cast<std::uint64_t>(n));
    return {(twice ? 2 : 1) * log2, ring.numerator};
  }
  throw std::invalid_argument(fmt::format(
      "{} by \"{}\" over {} ranks of this shape is not modelled (ring; direct but on a ring; "
      "halvingDoubling of a power of two on a switch)",
      name_of(op), name, n));
}

/// The name that the system layer gives an operation in a dimension; a list of one is for all.
std::string algorithm_name(const topology::AstraSystem& system, ChakraCollective op,
                           std::size_t dimension) {
  const std::vector<std::string>& names = op == ChakraCollective::all_gather ? system.all_gather
                                          : op == ChakraCollective::reduce_scatter
                                              ? system.reduce_scatter
                                          : op == ChakraCollective::all_to_all ? system.all_to_all
                                                                               : system.all_reduce;
  if (names.empty()) return "ring";
  return names[std::min(dimension, names.size() - 1)];
}

std::int64_t hops_of(AstraShape shape) {
  return shape == AstraShape::fabric_switch ? 2 : 1;
}

}  // namespace

AstraFabric::AstraFabric(const topology::AstraNetwork& network, const topology::AstraSystem& system)
    : network_(network),
      system_(system),
      active_(std::min(system.active_chunks, system.splits)),
      calls_(builder_.thread(sim::ProcessId(0))) {
  for (const topology::AstraDimension& dimension : network.dimensions) {
    strides_.push_back(npus_);
    npus_ = dimension.npus > kMostRanksOfProgram
                ? kMostRanksOfProgram + 1
                : std::min(npus_ * dimension.npus, kMostRanksOfProgram + 1);
  }
  if (npus_ < 2 || npus_ > kMostRanksOfProgram) {
    throw std::invalid_argument(fmt::format("a network of {} NPUs: 2 to {} are run",
                                            npus_ > kMostRanksOfProgram ? "more" : "1",
                                            kMostRanksOfProgram));
  }
  lanes_.resize(static_cast<std::size_t>(npus_ * active_) * network.dimensions.size() * 2);
}

std::int64_t AstraFabric::coordinate(std::int64_t npu, std::size_t dimension) const {
  return npu / strides_[dimension] % network_.dimensions[dimension].npus;
}

sim::LinkId AstraFabric::port(std::int64_t npu, std::size_t dimension, bool out) const {
  const auto pair = static_cast<std::size_t>(npu) * network_.dimensions.size() + dimension;
  return sim::LinkId(static_cast<std::uint32_t>(2 * pair + (out ? 0 : 1)));
}

sim::StreamId AstraFabric::lane(std::int64_t npu, std::size_t dimension, bool back,
                                std::size_t index) {
  const std::size_t dimensions = network_.dimensions.size();
  const std::size_t at =
      ((static_cast<std::size_t>(npu) * dimensions + dimension) * 2 + (back ? 1 : 0)) *
          static_cast<std::size_t>(active_) +
      index;
  if (!lanes_[at]) lanes_[at] = builder_.stream(sim::RankId(static_cast<std::uint32_t>(npu)));
  return *lanes_[at];
}

void AstraFabric::count(std::int64_t calls) {
  counted_ += calls;
  if (counted_ > kMostCalls) {
    throw std::invalid_argument(
        fmt::format("chunks, phases and NPUs make more than {} calls", kMostCalls));
  }
}

AstraFabric::Phase AstraFabric::phase(ChakraCollective op, std::size_t dimension, Bytes bytes,
                                      bool back) {
  const topology::AstraDimension& shape = network_.dimensions[dimension];
  const Algorithm algorithm =
      algorithm_of(op, algorithm_name(system_, op, dimension), shape.npus, shape.shape);
  Phase result;
  result.dimension = dimension;
  result.back = back;
  result.gangs.resize(static_cast<std::size_t>(npus_), sim::GangId(0));
  result.member.resize(static_cast<std::size_t>(npus_));
  for (std::int64_t first = 0; first < npus_; ++first) {
    if (coordinate(first, dimension) != 0) continue;
    sim::GangWriter gang = builder_.gang(name_of(op), bytes, kUnbounded);
    gang.denominator(shape.npus)
        .start_latency(shape.latency * (algorithm.steps * hops_of(shape.shape)));
    for (std::int64_t i = 0; i < shape.npus; ++i) {
      const std::int64_t npu = first + i * strides_[dimension];
      gang.member(sim::RankId(static_cast<std::uint32_t>(npu)))
          .link(port(npu, dimension, true), algorithm.numerator)
          .link(port(npu, dimension, false), algorithm.numerator);
      result.gangs[static_cast<std::size_t>(npu)] = gang.id();
      result.member[static_cast<std::size_t>(npu)] = static_cast<std::uint32_t>(i);
    }
  }
  return result;
}

std::size_t AstraFabric::plan(ChakraCollective op, Bytes bytes,
                              const std::vector<bool>& dimensions) {
  std::vector<std::size_t> over;
  for (std::size_t d = 0; d < network_.dimensions.size(); ++d) {
    const bool involved = dimensions.empty() || (d < dimensions.size() && dimensions[d]);
    if (involved && network_.dimensions[d].npus > 1) over.push_back(d);
  }
  if (over.empty()) throw std::invalid_argument(fmt::format("{} over no dimension", name_of(op)));
  const bool barrier = op == ChakraCollective::barrier;
  const std::int64_t splits = barrier ? 1 : system_.splits;
  count(splits * npus_ * static_cast<std::int64_t>(over.size()) * 2);
  Planned result;
  std::int64_t given = 0;
  for (std::int64_t chunk = 0; chunk < splits; ++chunk) {
    const std::int64_t upto =
        bytes.count() / splits * (chunk + 1) + bytes.count() % splits * (chunk + 1) / splits;
    std::int64_t size = std::max<std::int64_t>(1, upto - given);
    given = upto;
    const auto shrunk = [&](std::size_t d) {
      return std::max<std::int64_t>(1, size / network_.dimensions[d].npus);
    };
    std::vector<Phase>& phases = result.chunks.emplace_back();
    if (op == ChakraCollective::all_reduce || barrier) {
      for (std::size_t i = 0; i + 1 < over.size(); ++i) {
        phases.push_back(
            phase(ChakraCollective::reduce_scatter, over[i], Bytes::from(size), false));
        size = shrunk(over[i]);
      }
      phases.push_back(phase(op, over.back(), Bytes::from(size), false));
      for (std::size_t i = over.size() - 1; i-- > 0;) {
        phases.push_back(phase(ChakraCollective::all_gather, over[i], Bytes::from(size), true));
        size *= network_.dimensions[over[i]].npus;
      }
    } else if (op == ChakraCollective::all_gather) {
      for (std::size_t i = over.size(); i-- > 0;) {
        phases.push_back(phase(op, over[i], Bytes::from(size), true));
        size *= network_.dimensions[over[i]].npus;
      }
    } else {
      for (const std::size_t d : over) {
        phases.push_back(phase(op, d, Bytes::from(size), false));
        if (op == ChakraCollective::reduce_scatter) size = shrunk(d);
      }
    }
  }
  planned_.push_back(std::move(result));
  return planned_.size() - 1;
}

std::size_t AstraFabric::plan_message(std::int64_t from, std::int64_t to, Bytes bytes) {
  if (from == to || from < 0 || to < 0 || from >= npus_ || to >= npus_)
    throw std::invalid_argument(fmt::format("a message from NPU {} to NPU {}", from, to));
  count(2);
  Duration latency;
  Phase part;
  part.gangs.resize(static_cast<std::size_t>(npus_), sim::GangId(0));
  part.member.resize(static_cast<std::size_t>(npus_));
  for (std::size_t d = 0; d < network_.dimensions.size(); ++d) {
    const topology::AstraDimension& shape = network_.dimensions[d];
    const std::int64_t apart = (coordinate(to, d) - coordinate(from, d) + shape.npus) % shape.npus;
    if (apart == 0) continue;
    part.dimension = d;
    const bool ring = shape.shape == AstraShape::ring;
    latency += shape.latency * (ring ? std::min(apart, shape.npus - apart) : hops_of(shape.shape));
  }
  sim::GangWriter gang =
      builder_.gang("message", Bytes::from(std::max<std::int64_t>(1, bytes.count())), kUnbounded);
  gang.denominator(1).start_latency(latency);
  for (const std::int64_t npu : {from, to}) {
    gang.member(sim::RankId(static_cast<std::uint32_t>(npu)));
    for (std::size_t d = 0; d < network_.dimensions.size(); ++d) {
      if (coordinate(from, d) != coordinate(to, d)) gang.link(port(npu, d, npu == from), 1);
    }
    part.gangs[static_cast<std::size_t>(npu)] = gang.id();
    part.member[static_cast<std::size_t>(npu)] = npu == from ? 0 : 1;
  }
  Planned result;
  result.message = true;
  result.chunks.push_back({std::move(part)});
  planned_.push_back(std::move(result));
  return planned_.size() - 1;
}

std::vector<sim::EventId> AstraFabric::launch(std::size_t planned, std::int64_t npu,
                                              const std::vector<sim::EventId>& after) {
  std::vector<sim::EventId> ends;
  const auto at = static_cast<std::size_t>(npu);
  const Planned& what = planned_[planned];
  for (std::size_t chunk = 0; chunk < what.chunks.size(); ++chunk) {
    std::vector<sim::EventId> before = after;
    for (const Phase& part : what.chunks[chunk]) {
      // A message has a stream of its own: what it meets must not wait behind it.
      const sim::StreamId stream =
          what.message
              ? builder_.stream(sim::RankId(static_cast<std::uint32_t>(npu)))
              : lane(npu, part.dimension, part.back, chunk % static_cast<std::size_t>(active_));
      for (const sim::EventId event : before) calls_.wait(stream, event);
      const sim::KernelId kernel = builder_.gang_kernel("chunk", part.gangs[at], part.member[at], 1)
                                       .footprint({.threads = kThreadsOfPart})
                                       .id();
      calls_.launch(stream, kernel);
      before = {builder_.event()};
      calls_.record(stream, before.front());
    }
    ends.push_back(before.front());
  }
  return ends;
}

sim::Machine AstraFabric::machine() const {
  sim::Machine machine;
  machine.processes.push_back({.name = "process",
                               .launch_cost = {},
                               .graph_launch_cost = {},
                               .max_connections = kMostStreams});
  // Every lane's chunk at once, every message, and what computes.
  std::int64_t messages = 0;
  for (const Planned& each : planned_) messages += each.message ? 1 : 0;
  const auto slots = static_cast<int>(
      active_ * static_cast<std::int64_t>(network_.dimensions.size()) * 2 + messages + kOtherSlots);
  for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(npus_); ++r) {
    sim::Device device{.name = fmt::format("npu{}", r),
                       .sms = {.sms_per_gpc = {1},
                               .per_sm = {.threads = kThreadsOfPart * slots,
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
    for (std::size_t d = 0; d < network_.dimensions.size(); ++d) {
      for (const char* way : {"out", "in"}) {
        machine.links.push_back(
            {.name = fmt::format("npu{}.{}.{}", r, d, way),
             .capacity_per_direction = network_.dimensions[d].bandwidth_per_direction,
             .latency = {}});
      }
    }
    machine.ranks.push_back(
        {.device = sim::DeviceId(r), .process = sim::ProcessId(0), .sms_per_gpc = {}});
  }
  return machine;
}

}  // namespace weft::model
