// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/nccl_carrier.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "models/cost/nccl_symmetric.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/graph_writer.hpp"
#include "models/schedules/whole_schedule.hpp"

namespace weft::model {
namespace {

// Faster than any PCI Express slot (5.0 x16, raw): peers of this rate are joined by NVLink.
constexpr Bandwidth fastest_slot = Bandwidth::from_bytes_per_second(64'000'000'000);

bool by_copy_engine(const Knobs& knobs) {
  return knobs.text("NCCL_CTA_POLICY") == "zero";
}

}  // namespace

int architecture_number(const Site& site) {
  const std::string& name = site.profile.gpu.architecture;
  int number = 0;
  if (name.starts_with("sm_")) std::from_chars(name.data() + 3, name.data() + name.size(), number);
  return number;
}

bool nvlink_domain(const Site& site) {
  return site.group.nodes == 1 && site.fabric.gpu_per_direction > fastest_slot;
}

std::vector<KnobSpec> nccl_knobs() {
  return {
      {"NCCL_ALGO",
       "algorithm; auto: the one of least time",
       {"auto", "ring", "tree", "nvls"},
       "auto",
       "NCCL_ALGO"},
      {"registered",
       "window: buffers are symmetric windows, and the library takes its symmetric kernels",
       {"no", "window"},
       "no",
       "ncclCommWindowRegister, NCCL_WIN_COLL_SYMMETRIC"},
      {"NCCL_CTA_POLICY",
       "zero: no CTA at all, copies by copy engine",
       {"default", "zero"},
       "default",
       "NCCL_CTA_POLICY"},
  };
}

std::optional<CollectiveCost> nccl_symmetric(const BoundaryCollective& collective,
                                             const Site& site) {
  if (!nvlink_domain(site)) return std::nullopt;
  const CollectiveProblem problem = problem_of(collective, site);
  const auto generation =
      architecture_number(site) < 100 ? NcclGeneration::hopper : NcclGeneration::blackwell;
  const int ranks = static_cast<int>(problem.ranks);
  const std::int64_t message = collective.message.count();
  // NCCL counts one rank's buffer: the whole of an all-reduce, the shard of the others.
  const std::int64_t buffer = problem.op == CollectiveOp::all_reduce ? message : message / ranks;
  const auto pick = nccl_symmetric_pick(
      generation, problem.op, ranks, std::max<std::int64_t>(1, buffer), site.fabric.switch_reduces);
  if (!pick) return std::nullopt;
  const Transport by = uses_switch(pick->kernel) ? Transport::fabric_switch : Transport::sm;
  auto cost = site.prices->direct(problem, by, pick->ctas);
  if (!cost) return std::nullopt;
  // Its own estimate, but no faster than the port of this machine, which the model's constants do not know.
  const double model = static_cast<double>(message) * pick->bytes_per_us / pick->bus_bytes * 1e6;
  const Bandwidth own = Bandwidth::from_bytes_per_second(std::llround(model));
  const auto busiest = std::max(cost->per_byte.egress, cost->per_byte.ingress);
  const Bandwidth port = Bandwidth::from_bytes_per_second(narrow(
      Int128{site.fabric.gpu_per_direction.bytes_per_second()} * cost->denominator / busiest));
  const Duration time = Duration::from_ps(std::llround(pick->time_us * 1e6));
  cost->floor = std::max(Duration(), time - collective.message / own);
  cost->base = cost->floor;
  cost->slack = Bytes();
  cost->rate_cap = std::min(own, port);
  return cost;
}

std::optional<CollectiveCost> nccl_carrier(const BoundaryCollective& collective, const Knobs& knobs,
                                           const Site& site, std::string& why) {
  const CollectiveProblem problem = problem_of(collective, site);
  const std::string& algorithm = knobs.text("NCCL_ALGO");
  const bool window = knobs.text("registered") == "window";
  if (by_copy_engine(knobs)) {
    if (!window || algorithm != "auto") {
      why = "copy-engine collectives need symmetric windows, and know no other algorithm";
      return std::nullopt;
    }
    if (!nvlink_domain(site)) {
      why = "copy-engine collectives need all ranks in one load-store domain of NVLink";
      return std::nullopt;
    }
    auto cost = site.prices->direct(problem, Transport::copy_engine, 0);
    if (!cost) {
      why = fmt::format(
          "copy engines do not reduce: NCCL has them for AllGather, AlltoAll, Gather and "
          "Scatter, not for {}",
          name_of(problem.op));
    }
    return cost;
  }
  if (window) {
    if (algorithm != "auto") {
      why = "symmetric kernels are not an NCCL_ALGO: registered buffers leave the choice to NCCL";
      return std::nullopt;
    }
    auto cost = nccl_symmetric(collective, site);
    if (!cost) {
      why = fmt::format(
          "NCCL has symmetric kernels for AllGather, AllReduce and ReduceScatter of ranks "
          "that NVLink joins, and this is {} of {} ranks on {} nodes",
          name_of(problem.op), problem.ranks, problem.nodes);
    }
    return cost;
  }
  if (algorithm == "auto") return site.prices->library(problem, collective.message);
  for (const CollectiveAlgorithm known : every_collective_algorithm) {
    if (name_of(known) != algorithm) continue;
    auto cost = site.prices->library(problem, collective.message, known);
    if (!cost) {
      why = fmt::format("NCCL_ALGO={} does not do {} among these ranks", algorithm,
                        name_of(problem.op));
    }
    return cost;
  }
  return std::nullopt;
}

Bytes nccl_windows(const Boundary& boundary, const Knobs& knobs) {
  Bytes bytes;
  if (knobs.text("registered") != "window") return bytes;
  for (const BoundaryCollective& collective : boundary.collectives) {
    if (collective.group > 1) bytes += collective.message;
  }
  return bytes;
}

Knobs nccl_normalised(const Boundary& boundary, Knobs knobs, const Site& site) {
  if (knobs.text("NCCL_ALGO") == "auto") return knobs;
  for (const BoundaryCollective& collective : boundary.collectives) {
    if (collective.group < 2) continue;
    const CollectiveProblem problem = problem_of(collective, site);
    const CollectiveCost chosen = site.prices->library(problem, collective.message);
    if (name_of(chosen.algorithm) != knobs.text("NCCL_ALGO")) return knobs;
  }
  knobs.set("NCCL_ALGO", "auto");
  return knobs;
}

void copy_whole(const BoundaryCollective& collective, const std::vector<sim::StreamId>& streams,
                LayerProgram& program) {
  GraphWriter graph(collective, program);
  const std::vector<Transfer> transfers =
      library_transfers(collective, program.site(), CollectiveAlgorithm::direct);
  const RankSignals ready = graph.signals(), done = graph.signals();
  for (int rank = 0; rank < graph.ranks(); ++rank) {
    const sim::StreamId stream = streams[static_cast<std::size_t>(rank)];
    graph.barrier(rank, stream, ready);
    for (int step = 1; step < graph.ranks(); ++step) {
      const int to = graph.peer(rank, step);
      for (const Transfer& each : transfers) {
        if (each.from != rank || each.to != to) continue;
        graph.copy(rank, stream, rank, to, bytes_of(collective.format, each.block.elements()), 0);
      }
    }
    graph.barrier(rank, stream, done);
  }
}

void nccl_launch(const BoundaryCollective& collective, const Knobs& knobs,
                 const std::vector<sim::StreamId>& streams,
                 const std::vector<sim::EventId>& resident, LayerProgram& program) {
  if (by_copy_engine(knobs)) {
    copy_whole(collective, streams, program);
    return;
  }
  std::string why;
  program.collective(*nccl_carrier(collective, knobs, program.site(), why), collective.message,
                     collective.name, streams, resident);
}

}  // namespace weft::model
