// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/published/nccl_carrier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/cost/cost_model.hpp"
#include "models/schedules/fused.hpp"
#include "models/schedules/published/copies_without_ctas.hpp"
#include "models/schedules/published/node_grid.hpp"

namespace weft::model {
namespace {

bool by_copy_engine(const Knobs& knobs) {
  return knobs.text("NCCL_CTA_POLICY") == "zero";
}

}  // namespace

int architecture_number(const Site& site) {
  return nvidia_architecture(site.profile);
}

bool nvlink_domain(const Site& site) {
  return site.group.nodes == 1 && joined_by_nvlink(site.fabric);
}

std::vector<KnobSpec> nccl_knobs() {
  return {
      {"NCCL_ALGO",
       "algorithm; auto: the one of least time",
       {"auto", "ring", "tree", "nvls", "collnetdirect"},
       "auto",
       "NCCL_ALGO"},
      {"registered",
       "window: buffers are symmetric windows, and the library takes its symmetric kernels",
       {"no", "window"},
       "no",
       "ncclCommWindowRegister, NCCL_WIN_COLL_SYMMETRIC"},
      {"NCCL_CTA_POLICY",
       "zero: no CTA at all, copies by copy engine, and by NIC between nodes",
       {"default", "zero"},
       "default",
       "NCCL_CTA_POLICY"},
  };
}

std::optional<CollectiveCost> nccl_symmetric(const BoundaryCollective& collective,
                                             const Site& site) {
  return symmetric_collective(site.profile, site.fabric, problem_of(collective, site),
                              collective.message);
}

namespace {

// By copy engines inside a node, and by NICs between nodes, which the host's proxy drives.
std::optional<CollectiveCost> without_ctas(const CollectiveProblem& problem, const Knobs& knobs,
                                           const Site& site, std::string& why) {
  if (knobs.text("registered") != "window" || knobs.text("NCCL_ALGO") != "auto") {
    why = "copy-engine collectives need symmetric windows, and know no other algorithm";
    return std::nullopt;
  }
  if (!joined_by_nvlink(site.fabric) && problem.ranks_per_node() > 1) {
    why = "copy-engine collectives need the ranks of a node in one load-store domain of NVLink";
    return std::nullopt;
  }
  if (problem.op != CollectiveOp::all_gather && problem.op != CollectiveOp::all_to_all) {
    why = fmt::format(
        "copy engines do not reduce: NCCL has them for AllGather, AlltoAll, Gather and "
        "Scatter, not for {}",
        name_of(problem.op));
    return std::nullopt;
  }
  Rules broken;
  require_engines(broken, site);
  if (problem.nodes > 1) require_grid(site, broken);
  if (!broken.empty()) {
    why = broken.front();
    return std::nullopt;
  }
  if (problem.nodes == 1) return site.prices->direct(problem, Transport::copy_engine, 0);
  CollectiveCost cost;
  cost.algorithm = CollectiveAlgorithm::direct;
  cost.transport = Transport::nic;
  return cost;
}

// Sums in the network's switches: NCCL_ALGO collnetdirect.
std::optional<CollectiveCost> by_collnet(const BoundaryCollective& collective, const Site& site,
                                         std::string& why) {
  const CollectiveProblem problem = problem_of(collective, site);
  auto cost = problem.nodes > 1
                  ? network_reduction(site.profile, site.fabric, problem, collective.message)
                  : std::nullopt;
  if (cost) return cost;
  why =
      problem.nodes < 2 ? "CollNet sums over nodes, and these ranks are on one"
      : problem.op != CollectiveOp::all_reduce
          ? fmt::format("CollNet all-reduces, and this is {}", name_of(problem.op))
          : "CollNet (NCCL_COLLNET_ENABLE=1) needs switches between the nodes that reduce (SHARP)";
  return std::nullopt;
}

// NVLS of one half: an all-gather multicasts, a reduce-scatter lets the switch add. With the constants of the
// all-reduce, which does both: a hop less, and the message once over each port instead of (p+1)/p of it.
std::optional<CollectiveCost> by_half_of_nvls(CollectiveProblem problem, Bytes message,
                                              const Site& site) {
  const bool half =
      problem.op == CollectiveOp::all_gather || problem.op == CollectiveOp::reduce_scatter;
  const CollectiveProblem own = problem;
  problem.op = CollectiveOp::all_reduce;
  const auto both = site.prices->library(problem, message, CollectiveAlgorithm::nvls);
  if (!half || !both) return std::nullopt;
  auto cost = site.prices->direct(own, Transport::fabric_switch, both->ctas);
  if (!cost) return std::nullopt;
  cost->base = both->base;
  cost->step_latency = both->step_latency;
  cost->floor = both->floor - both->step_latency;
  cost->slack = both->slack;
  cost->threads_per_cta = both->threads_per_cta;
  cost->rate_cap = Bandwidth::from_bytes_per_second(
      narrow(Int128{both->rate_cap.bytes_per_second()} * (own.ranks + 1) / own.ranks));
  cost->source = SourceKind::assumed;
  return cost;
}

}  // namespace

std::optional<CollectiveCost> nccl_carrier(const BoundaryCollective& collective, const Knobs& knobs,
                                           const Site& site, std::string& why) {
  const CollectiveProblem problem = problem_of(collective, site);
  const std::string& algorithm = knobs.text("NCCL_ALGO");
  if (by_copy_engine(knobs)) return without_ctas(problem, knobs, site, why);
  if (knobs.text("registered") == "window") {
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
  if (algorithm == "collnetdirect") return by_collnet(collective, site, why);
  for (const CollectiveAlgorithm known : every_collective_algorithm) {
    if (name_of(known) != algorithm) continue;
    auto cost = site.prices->library(problem, collective.message, known);
    if (!cost && known == CollectiveAlgorithm::nvls)
      cost = by_half_of_nvls(problem, collective.message, site);
    if (!cost) {
      why = fmt::format("NCCL_ALGO={} does not do {} among these ranks", algorithm,
                        name_of(problem.op));
    }
    return cost;
  }
  return std::nullopt;
}

std::vector<std::string> nccl_rules() {
  return {"symmetric kernels and copy engines need registered buffers of one LSA domain",
          "copy engines do not reduce", "NVLS needs a switch that reduces",
          "CollNet needs switches between the nodes that reduce, and all-reduces only"};
}

Bytes NcclWhole::buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                              const Site& site) const {
  return knobs.text("registered") == "window" ? WholeSchedule::buffer_bytes(boundary, knobs, site)
                                              : Bytes();
}

Knobs NcclWhole::normalised(const Boundary& boundary, const Knobs& knobs, const Site& site) const {
  if (knobs.text("NCCL_ALGO") == "auto") return knobs;
  for (const BoundaryCollective& collective : boundary.collectives) {
    if (collective.group < 2) continue;
    const CollectiveProblem problem = problem_of(collective, site);
    const CollectiveCost chosen = site.prices->library(problem, collective.message);
    if (name_of(chosen.algorithm) != knobs.text("NCCL_ALGO")) return knobs;
  }
  Knobs result = knobs;
  result.set("NCCL_ALGO", "auto");
  return result;
}

std::optional<CollectiveCost> NcclWhole::carry(const BoundaryCollective& collective,
                                               const Knobs& knobs, const Site& site,
                                               std::string& why) const {
  return nccl_carrier(collective, knobs, site, why);
}

std::vector<Transfer> NcclWhole::moves(const BoundaryCollective& collective, const Knobs& knobs,
                                       const Site& site) const {
  if (by_copy_engine(knobs) && site.group.nodes > 1 && collective.op == CollectiveOp::all_gather)
    return grid_transfers(collective, NodeGrid(site));
  return WholeSchedule::moves(collective, knobs, site);
}

void NcclWhole::launch(const BoundaryCollective& collective, const Knobs& knobs,
                       const std::vector<sim::StreamId>& streams,
                       const std::vector<sim::EventId>& resident, LayerProgram& program) const {
  if (by_copy_engine(knobs)) {
    copy_without_ctas(collective, streams, program);
  } else {
    WholeSchedule::launch(collective, knobs, streams, resident, program);
  }
}

}  // namespace weft::model
