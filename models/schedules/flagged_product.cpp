// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/flagged_product.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/schedules/demands.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/tile_walk.hpp"

namespace weft::model {
namespace {

// A waiting CTA has one thread that polls, a hundredth of an SM's issue slots.
constexpr int waiting_issue_milli = 10;
// kernels/ has tiles of its own for sm_90 on.
constexpr int first_with_own_kernels = 90;

template <class T>
void add_all(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

sim::SignalPost add_one(sim::SignalId signal) {
  return {sim::SignalPost::Kind::add, signal, 1, {}};
}

std::vector<ProductPart> tiles_of_rows(const GemmCost& cost, std::int64_t columns,
                                       std::vector<ProductPart> parts, bool arrive) {
  std::vector<ProductPart> result;
  ProductPart open;
  std::int64_t rows = 0, counted = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ProductPart& part = parts[i];
    rows += part.rows;
    open.rows += part.rows;
    add_all(open.waits, part.waits);
    add_all(open.posts, part.posts);
    add_all(open.stores, part.stores);
    open.posts_per_tile = part.posts_per_tile;
    open.tiles = tiles_of(cost, rows, columns, !arrive || i + 1 == parts.size()) - counted;
    if (open.tiles > 0) {
      counted += open.tiles;
      result.push_back(std::exchange(open, {}));
    } else if (!arrive && !result.empty()) {
      result.back().rows += open.rows;
      add_all(result.back().posts, open.posts);
      open = {};
    }
  }
  if (!result.empty()) {
    result.back().rows += open.rows;
    add_all(result.back().waits, open.waits);
  }
  return result;
}

GemmCost flagged_cost(const FusedView& view, const Site& site, int margin, int rank) {
  GemmProblem problem{view.work.rank.m,    view.work.rank.n,    view.work.rank.k,
                      view.work.x.element, view.work.y.element, GemmLibrary::ours};
  const SmBudget sms = site.sms(rank, margin);
  const bool own = architecture_number(site) >= first_with_own_kernels;
  if (!own) problem.library = GemmLibrary::cublaslt;
  const GemmCost& chosen = site.prices->gemm(problem, sms);
  if (chosen.split_k == 1) return chosen;
  if (!own) return gemm_cost(site.profile, problem, sms, chosen.kernel, 1);
  // The chooser took a tile for SMs that parts of K fill: of those that do not split it another is the quickest.
  std::optional<GemmCost> least;
  for (const GemmTile& tile : gemm_tiles(site.profile, problem.library)) {
    if (tile.split_k > 1 || sms.resident_ctas(tile.cluster_m * tile.cluster_n) == 0) continue;
    GemmCost cost = gemm_cost(site.profile, problem, sms, tile);
    if (!least || cost.time < least->time) least = std::move(cost);
  }
  return least.value_or(chosen);
}

Duration flagged_work(const FusedView& view, const Site& site, int margin) {
  const GemmCost cost = flagged_cost(view, site, margin);
  const std::int64_t at_once = std::max<std::int64_t>({1, cost.resident, site.sms(0).sms()});
  return Duration::from_ps(narrow(Int128{cost.tile_time().ps()} * cost.tiles / at_once));
}

void write_parts(GraphWriter& graph, int rank, const GemmCost& cost,
                 const std::vector<ProductPart>& parts, sim::KernelWriter& kernel) {
  LayerProgram& program = graph.program();
  for (const ProductPart& part : parts) {
    kernel.range(part.tiles, cost.tile_time(), matrix_demand)
        .fluid(program.gemm_fluid(rank, graph.view().work, part.rows))
        .l2(cost.l2_per_tile)
        .memory(program.memory(rank), cost.hbm_per_tile);
    for (const TileStore& store : part.stores) kernel.route(store.route, store.bytes, true);
    for (const TileStore& load : part.loads) kernel.route(load.route, load.bytes);
    for (const sim::SignalWait& wait : part.waits) kernel.wait(wait.signal, wait.at_least);
    for (const sim::SignalPost& post : part.posts) kernel.post(post, part.posts_per_tile);
  }
}

sim::KernelWriter write_flagged(GraphWriter& graph, int rank, std::string_view label,
                                const ProductShape& shape, const GemmCost& cost,
                                const std::vector<ProductPart>& parts) {
  LayerProgram& program = graph.program();
  sim::KernelWriter kernel =
      program.builder().kernel(label, shape.persistent ? static_cast<int>(cost.resident) : 0);
  kernel.cluster(static_cast<int>(cost.kernel.cluster_m * cost.kernel.cluster_n))
      .footprint(cost.footprint)
      .prologue(program.beyond_launch(cost.start))
      .role(sim::Purpose::compute,
            shape.persistent ? sim::TileOrder::static_shares : sim::TileOrder::one_cta_per_tile)
      .spin(waiting_issue_milli);
  write_parts(graph, rank, cost, parts, kernel);
  return kernel;
}

void launch_product(GraphWriter& graph, int rank, std::string_view label, sim::KernelId kernel) {
  graph.program().tag(rank, 0, sim::Purpose::compute);
  graph.program().host(rank).labelled(label).launch(graph.compute(rank), kernel);
}

void launch_rows(GraphWriter& graph, int rank, std::string_view label, const ProductShape& shape,
                 const std::vector<ProductPart>& parts, bool arrive) {
  const GemmCost cost = flagged_cost(graph.view(), graph.program().site(), shape.margin, rank);
  const auto tiles = tiles_of_rows(cost, graph.view().work.rank.n, parts, arrive);
  launch_product(graph, rank, label, write_flagged(graph, rank, label, shape, cost, tiles).id());
}

std::vector<ProductPart> carrying(const ProductPart& part, sim::RouteId route, Bytes bytes,
                                  std::vector<TileStore> ProductPart::*way) {
  const std::int64_t each = bytes.count() / part.tiles, over = bytes.count() % part.tiles;
  std::vector<ProductPart> parts;
  if (over > 0) {
    ProductPart& first = parts.emplace_back(part);
    first.tiles = over;
    first.rows = part.rows * over / part.tiles;
    first.*way = {{route, Bytes::from(each + 1)}};
    if (!part.posts_per_tile) first.posts.clear();
  }
  ProductPart& rest = parts.emplace_back(part);
  rest.*way = {{route, Bytes::from(each)}};
  if (over > 0) {
    rest.tiles -= over;
    rest.rows -= parts.front().rows;
  }
  return parts;
}

Bytes tile_bytes(const FusedView& view, std::int64_t rows, std::int64_t tiles) {
  const Bytes all = bytes_of(view.collective.format, rows * view.collective.extent.columns);
  return Bytes::from(divide_up(all.count(), std::max<std::int64_t>(1, tiles)));
}

}  // namespace weft::model
