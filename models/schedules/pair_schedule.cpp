// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/pair_schedule.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schedules/delivery.hpp"
#include "models/schedules/site_fabric.hpp"

namespace weft::model {

void require(Rules& broken, bool holds, std::string rule) {
  if (!holds) broken.push_back(std::move(rule));
}

void require_alignment(Rules& broken, const FusedView& view, std::string_view what) {
  constexpr std::int64_t piece_bits = 16 * 8;
  const std::int64_t k = piece_bits / bits_of(view.work.x.element),
                     n = piece_bits / bits_of(view.work.y.element);
  require(
      broken, view.work.rank.k % k == 0 && view.work.rank.n % n == 0,
      fmt::format("{} moves pieces of 16 bytes: K must divide by {} and N by {}, and they are {} "
                  "and {}",
                  what, k, n, view.work.rank.k, view.work.rank.n));
}

void require_sms(Rules& broken, const Site& site, std::int64_t left_free) {
  std::int64_t least = site.sms(0).sms();
  for (int rank = 1; rank < site.running(); ++rank) least = std::min(least, site.sms(rank).sms());
  require(broken, left_free < least,
          fmt::format("a product that leaves {} SMs free has none left of {}", left_free, least));
}

void require_engines(Rules& broken, const Site& site) {
  const auto& engines = site.built.machine.device(site.built.machine.ranks.front().device).engines;
  for (const auto& [direction, where] :
       {std::pair(sim::EngineDirection::outbound, "to its peers"),
        std::pair(sim::EngineDirection::inbound, "from its peers"),
        std::pair(sim::EngineDirection::local, "inside its memory")}) {
    const bool any = std::any_of(engines.begin(), engines.end(), [&](const auto& engine) {
      return engine.direction == direction || engine.direction == sim::EngineDirection::any;
    });
    require(broken, any, fmt::format("a device here has no engine that copies {}", where));
  }
}

bool PairSchedule::runs_on(std::string_view architecture) const {
  return architecture.starts_with("sm_");
}

void PairSchedule::boundary_rules(const Boundary&, const FusedPair&, Rules&) const {}

std::vector<std::string> PairSchedule::refusals(const Boundary& boundary, const Knobs& knobs,
                                                const Site& site) const {
  const auto pair = fused_pair(boundary);
  if (!pair) {
    return {fmt::format("\"{}\" has no product that makes or needs what is communicated",
                        boundary.name)};
  }
  if (site.ranks() < 2) return {"one rank has nobody to talk to"};
  const FusedView view(boundary, *pair);
  Rules broken;
  require(broken, runs_on(site.profile.gpu.architecture),
          fmt::format("{} has no kernels for {}", info().system, site.profile.gpu.architecture));
  require(broken, site.running() == site.ranks(),
          "its kernels talk to kernels of its peers, and some ranks here are memories only");
  require(broken, view.collective.group == site.ranks(),
          fmt::format("the collective joins {} ranks and the site has {}", view.collective.group,
                      site.ranks()));
  require(broken, !addresses_peers() || reach_peers(site), no_peer_access);
  const std::vector<CollectiveOp> able = fuses();
  std::vector<std::string_view> names;
  for (const CollectiveOp op : able) names.push_back(name_of(op));
  require(broken, std::find(able.begin(), able.end(), view.collective.op) != able.end(),
          fmt::format("{} fuses {} with a product, and this is {}", info().name,
                      fmt::join(names, " or "), name_of(view.collective.op)));
  require_sms(broken, site, sms_left_free(knobs, site));
  if (broken.empty()) boundary_rules(boundary, *pair, broken);
  if (broken.empty()) rules(view, knobs, site, broken);
  return broken;
}

std::vector<std::vector<Transfer>> PairSchedule::transfers(const Boundary& boundary,
                                                           const Knobs& knobs,
                                                           const Site& site) const {
  const FusedPair pair = *fused_pair(boundary);
  const FusedView view(boundary, pair);
  std::vector<std::vector<Transfer>> all;
  for (std::size_t c = 0; c < boundary.collectives.size(); ++c) {
    all.push_back(c == pair.collective ? moves(view, knobs, site)
                                       : library_transfers(boundary.collectives[c], site));
  }
  return all;
}

void PairSchedule::expand(const Boundary& boundary, const Knobs& knobs, const Site&,
                          LayerProgram& program) const {
  const FusedPair pair = *fused_pair(boundary);
  program.begin(boundary.name);
  const FusedView view(boundary, pair);
  expand_around(boundary, pair, program,
                [&] { emit(view, knobs, boundary.operators[pair.op].name, program); });
}

Duration PairSchedule::lower_bound(const Boundary& boundary, const Knobs& knobs,
                                   const Site& site) const {
  const FusedView view(boundary, *fused_pair(boundary));
  const Duration compute = compute_bound(view, knobs, site);
  const auto port = port_rate(site, view.gathers);
  if (!port) return compute;
  // What a rank needs and does not hold comes in by its port; what it does not keep of its addends goes out.
  const Bytes whole = whole_bytes(view);
  const Bytes kept = bytes_of(view.collective.format,
                              rows_of_owner(view, 0).rows() * view.collective.extent.columns);
  const bool all_to_all = view.collective.op == CollectiveOp::all_to_all;
  const Bytes moved = all_to_all ? cut_bound(view.collective, 0) : whole - kept;
  return std::max(compute, moved / *port);
}

Bytes PairSchedule::buffer_bytes(const Boundary& boundary, const Knobs& knobs,
                                 const Site& site) const {
  return buffers(FusedView(boundary, *fused_pair(boundary)), knobs, site);
}

std::vector<Transfer> PairSchedule::moves(const FusedView& view, const Knobs&, const Site&) const {
  return owner_transfers(view);
}

Bytes whole_bytes(const FusedView& view) {
  return bytes_of(view.collective.format,
                  view.collective.extent.rows * view.collective.extent.columns);
}

Bytes output_bytes(const FusedView& view) {
  return bytes_of(view.work.y, view.work.rank.m * view.work.rank.n);
}

RowRange rows_of_owner(const FusedView& view, int owner) {
  return shard_of(view.collective.extent.rows, view.collective.group, owner);
}

Duration tile_work(const FusedView& view, std::int64_t rows, std::int64_t columns,
                   GemmLibrary library, int margin, const Site& site) {
  if (rows <= 0 || columns <= 0) return {};
  const GemmCost cost =
      site.prices->gemm(piece_of(view.work, rows, columns, library), site.sms(0, margin));
  const std::int64_t at_once = std::max<std::int64_t>({1, cost.resident, site.sms(0).sms()});
  return Duration::from_ps(narrow(Int128{cost.tile_time().ps()} * cost.tiles / at_once));
}

namespace {

// Of rank 0's own links in the tree that brings what is multicast, or takes what is added.
std::optional<Bandwidth> tree_rate(const Site& site, bool inbound) {
  const auto& trees = inbound ? site.built.multicast : site.built.reduce;
  if (trees.empty()) return std::nullopt;
  const sim::Machine& machine = site.built.machine;
  const sim::Route& tree = machine.routes.at(trees.front().value());
  const sim::LinkEnd own{sim::LinkEnd::Of::memory, site.built.memories.front().device.value()};
  std::optional<Bandwidth> rate;
  for (const sim::RouteShare& share : tree.shares) {
    if (share.on != sim::RouteShare::On::link) continue;
    const sim::Link& link = machine.links.at(share.index);
    if ((inbound ? link.to : link.from) != own) continue;
    const Bandwidth whole = rate_over(machine, share, tree.denominator);
    if (!rate || whole < *rate) rate = whole;
  }
  return rate;
}

}  // namespace

std::optional<Bandwidth> port_rate(const Site& site, bool inbound) {
  const sim::Machine& machine = site.built.machine;
  std::optional<std::vector<sim::RouteShare>> common;
  std::int64_t denominator = 1;
  for (std::size_t peer = 1; peer < site.built.unicast.size(); ++peer) {
    const sim::RouteId id = inbound ? site.built.unicast[peer][0] : site.built.unicast[0][peer];
    const sim::Route& route = machine.routes.at(id.value());
    if (!common) {
      common.emplace();
      denominator = route.denominator;
      for (const sim::RouteShare& share : route.shares) {
        if (share.on == sim::RouteShare::On::link) common->push_back(share);
      }
      continue;
    }
    std::erase_if(*common, [&](const sim::RouteShare& share) {
      return route.denominator != denominator ||
             std::find(route.shares.begin(), route.shares.end(), share) == route.shares.end();
    });
  }
  std::optional<Bandwidth> rate;
  if (!common) return rate;
  for (const sim::RouteShare& share : *common) {
    const Bandwidth whole = rate_over(machine, share, denominator);
    if (!rate || whole < *rate) rate = whole;
  }
  const auto tree = tree_rate(site, inbound);
  return rate && tree ? std::max(*rate, *tree) : rate;
}

std::vector<Transfer> owner_transfers(const FusedView& view) {
  return direct_transfers(
      view, view.plan(std::max(1, view.collective.group - 1),
                      view.collective.op == CollectiveOp::all_to_all ? ChunkOrder::sliced
                                                                     : ChunkOrder::rotated));
}

std::vector<Transfer> part_transfers(const FusedView& view, const Site& site,
                                     CollectiveAlgorithm algorithm, RowRange columns, int chunk) {
  ChunkGeometry geometry;
  geometry.op = view.collective.op;
  geometry.ranks = view.collective.group;
  geometry.node_of_rank = site.built.node_of_rank;
  geometry.chunk = chunk;
  geometry.owned = [&view, columns](int owner) {
    const RowRange rows = rows_of_owner(view, owner);
    return Block{rows.begin, rows.rows(), columns.begin, columns.rows()};
  };
  return algorithm_transfers(algorithm, geometry);
}

}  // namespace weft::model
