// SPDX-License-Identifier: Apache-2.0
// FLUX's product + reduce-scatter.
//
// Hopper, NVLink: the epilogue stores tiles locally and sets a flag for each; a warp of the same CTA fetches the tile
// of its place that a peer has made for this rank, and another adds it up. At step t rank r works with rank r XOR t,
// so that pairs of ranks swap and no port is hit twice. Without fuse_reduction the fetched tiles land in slots, and a
// kernel adds them at the end.
// Ampere and Ada, NVLink: the epilogue stores each tile straight into its owner's slots; a kernel adds them.
// PCIe: partial sums go round a ring by copy engine, a kernel of few CTAs adds each to the rank's own.
#include <memory>

#include <fmt/format.h>

#include "models/schedules/demands.hpp"
#include "models/schedules/flagged_product.hpp"
#include "models/schedules/pair_schedule.hpp"
#include "models/schedules/published/nccl_carrier.hpp"
#include "models/schedules/registry.hpp"

namespace weft::model {
namespace {

constexpr int most_reducing_ranks = 8;

bool hopper(const Site& site) {
  return architecture_number(site) >= 90;
}

class FluxGemmRs final : public PairSchedule {
 public:
  const ScheduleInfo& info() const override {
    using std::int64_t;
    static const ScheduleInfo info{
        .name = "flux.gemm_rs",
        .system = "FLUX",
        .summary =
            "one persistent product whose tiles are fetched, or stored, tile by tile while it runs",
        .citation =
            "bytedance/flux at 19831ca: src/gemm_rs, "
            "sm90_gemm_tma_warpspecialized_cooperative_reduce_scatter.hpp, tile_mappings.hpp; "
            "arXiv 2406.06858",
        .knobs = {{"fuse_reduction",
                   "1: a warp adds fetched tiles; 0: a kernel adds slots at the end",
                   {int64_t{0}, int64_t{1}},
                   int64_t{0},
                   "fuse_reduction"}},
        .applies_to = "product + reduce-scatter",
        .order =
            "a block of tiles for each rank, in the order r XOR t; on PCIe in the ring's order",
        .edges =
            "a flag a tile, read by the peer that fetches it; on PCIe a flag a block and stream "
            "memory operations",
        .resources =
            "warps of the product's own CTAs; on PCIe a copy engine and a kernel that adds",
        .buffers = "the product's output and a slot for every rank in symmetric memory",
        .rules = {"at most 8 ranks of one node, a power of two of them",
                  "M divides by tile_M x ranks", "N divides by tile_N",
                  "fused reduction of bf16 needs Hopper"}};
    return info;
  }
  Knobs normalised(const Boundary&, const Knobs& knobs, const Site& site) const override {
    Knobs result = knobs;
    if (!nvlink_domain(site) || !hopper(site)) result.set("fuse_reduction", std::int64_t{0});
    return result;
  }

 protected:
  std::vector<CollectiveOp> fuses() const override { return {CollectiveOp::reduce_scatter}; }

  void rules(const FusedView& view, const Knobs& knobs, const Site& site,
             Rules& broken) const override {
    const int ranks = view.collective.group;
    require(
        broken, site.group.nodes == 1 && ranks <= most_reducing_ranks && (ranks & (ranks - 1)) == 0,
        fmt::format("the order r XOR t needs a power of two of at most {} ranks in one node; these "
                    "are {} on {}",
                    most_reducing_ranks, ranks, site.group.nodes));
    const GemmTile tile = flagged_cost(view, site).kernel;
    require(broken, view.work.rank.m % (tile.tile_m * ranks) == 0,
            fmt::format("M must divide by tile_M x ranks = {} x {}, and is {}", tile.tile_m, ranks,
                        view.work.rank.m));
    require(broken, view.work.rank.n % tile.tile_n == 0,
            fmt::format("N must divide by tile_N = {}, and is {}", tile.tile_n, view.work.rank.n));
    require(broken, knobs.count("fuse_reduction") == 0 || hopper(site),
            "a fused reduction of bf16 needs the bulk adds of sm_90");
  }

  std::vector<Transfer> moves(const FusedView& view, const Knobs&,
                              const Site& site) const override {
    if (nvlink_domain(site)) return owner_transfers(view);
    return library_transfers(view.collective, site, CollectiveAlgorithm::ring);
  }

  void emit(const FusedView& view, const Knobs& knobs, std::string_view label,
            LayerProgram& program) const override {
    GraphWriter graph(view, label, program);
    if (!nvlink_domain(program.site())) {
      ring(graph, label);
    } else if (hopper(program.site())) {
      fetch(graph, label, knobs.count("fuse_reduction") == 1);
    } else {
      push(graph, label);
    }
  }

  Duration compute_bound(const FusedView& view, const Knobs&, const Site& site) const override {
    return flagged_work(view, site);
  }
  Bytes buffers(const FusedView& view, const Knobs& knobs, const Site&) const override {
    const Bytes whole = bytes_of(view.work.y, view.work.rank.m * view.work.rank.n);
    return knobs.count("fuse_reduction") == 1 ? whole : whole * 2;
  }

 private:
  static void launch(GraphWriter& graph, int rank, std::string_view label, sim::KernelId kernel) {
    graph.program().tag(rank, 0, sim::Purpose::compute);
    graph.program().host(rank).labelled(label).launch(graph.compute(rank), kernel);
  }

  // Tiles of a block are fetched as they are made: in parts of one wave of the product.
  static void fetch(GraphWriter& graph, std::string_view label, bool fused) {
    LayerProgram& program = graph.program();
    const FusedView& view = graph.view();
    const int ranks = graph.ranks();
    std::vector<std::vector<sim::SignalId>> made;  // [rank][step]: tiles for rank ^ step
    for (int rank = 0; rank < ranks; ++rank) {
      auto& own = made.emplace_back();
      for (int step = 0; step < ranks; ++step)
        own.push_back(program.builder().signal(program.memory(rank)));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const ProductShape shape;
      const GemmCost cost = flagged_cost(graph.view(), graph.program().site(), 0, rank);
      const std::int64_t block = cost.tiles / ranks,
                         wave = std::max<std::int64_t>(1, cost.resident);
      std::vector<ProductPart> parts;
      for (int step = 1; step <= ranks; ++step) {
        const int t = step % ranks;  // its own block comes last
        for (std::int64_t begin = 0; begin < block; begin += wave) {
          const std::int64_t tiles = std::min(wave, block - begin);
          parts.push_back(
              {graph.shard_rows(rank) * tiles / block,
               tiles,
               {},
               {add_one(made[static_cast<std::size_t>(rank)][static_cast<std::size_t>(t)])},
               true});
        }
      }
      sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      kernel.warp_group(sim::Purpose::communication, sim::TileOrder::static_shares, "fetch")
          .spin(10);
      const Bytes bytes = tile_bytes(view, graph.shard_rows(rank), block);
      const Duration time = bytes / per_cta(program.site());
      for (int step = 1; step < ranks; ++step) {
        const int peer = rank ^ step;
        for (std::int64_t begin = 0; begin < block; begin += wave) {
          const std::int64_t tiles = std::min(wave, block - begin);
          kernel.range(tiles, time, copy_demand).route(graph.route(peer, rank), bytes);
          // Reading the sum back and writing it is the adding warp's business.
          if (fused) kernel.memory(program.memory(rank), bytes);
          kernel.wait(made[static_cast<std::size_t>(peer)][static_cast<std::size_t>(step)],
                      static_cast<std::uint64_t>(begin + tiles));
        }
      }
      launch(graph, rank, label, kernel.id());
      if (!fused) {
        graph.add(rank, graph.compute(rank), graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
      }
    }
  }

  // A warp keeps a few bulk loads in flight: what a copying CTA reaches, shared by the CTAs of all SMs.
  static Bandwidth per_cta(const Site& site) {
    const SmCopyCosts& copies = site.profile.sm_copy(CopyPath::from_peer);
    return copies.per_cta.value;
  }

  static void push(GraphWriter& graph, std::string_view label) {
    const int ranks = graph.ranks();
    const RankSignals done = graph.signals();
    for (int rank = 0; rank < ranks; ++rank) {
      const ProductShape shape;
      const GemmCost cost = flagged_cost(graph.view(), graph.program().site(), 0, rank);
      const std::int64_t block = cost.tiles / ranks;
      std::vector<ProductPart> parts;
      for (int step = 1; step <= ranks; ++step) {
        const int owner = rank ^ (step % ranks);
        ProductPart part{graph.shard_rows(owner), block, {}, {}, false, {}};
        if (owner != rank) {
          part.stores = {{graph.route(rank, owner), tile_bytes(graph.view(), part.rows, block)}};
        }
        parts.push_back(part);
      }
      const sim::KernelWriter kernel = write_flagged(graph, rank, label, shape, cost, parts);
      launch(graph, rank, label, kernel.id());
      graph.barrier(rank, graph.compute(rank), done, ranks - 1);
      graph.add(rank, graph.compute(rank), graph.shard_bytes(rank) * (ranks + 1), ranks - 1);
    }
  }

  // Rank r sends the sum for owner r-1 first and adds its own part to each sum that comes from r-1.
  static void ring(GraphWriter& graph, std::string_view label) {
    const int ranks = graph.ranks();
    std::vector<RankSignals> made, arrived;  // [step][rank]
    for (int step = 0; step < ranks; ++step) {
      made.push_back(graph.signals());
      arrived.push_back(graph.signals());
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const sim::StreamId main = graph.compute(rank), side = graph.communication(rank);
      const ProductShape shape;
      const GemmCost cost = flagged_cost(graph.view(), graph.program().site(), 0, rank);
      std::vector<ProductPart> parts;
      for (int step = 0; step < ranks; ++step) {
        parts.push_back({graph.shard_rows(graph.peer(rank, -1 - step)),
                         0,
                         {},
                         {add_one(made[static_cast<std::size_t>(step)][at])}});
      }
      const sim::KernelWriter kernel =
          write_flagged(graph, rank, label, shape, cost,
                        tiles_of_rows(cost, graph.view().work.rank.n, parts, false));
      launch(graph, rank, label, kernel.id());
      for (int step = 0; step < ranks; ++step) {
        const auto index = static_cast<std::size_t>(step);
        const int owner = graph.peer(rank, -1 - step), next = graph.peer(rank, 1);
        graph.wait(rank, side, made[index][at], 1, step);
        if (step > 0) {
          graph.wait(rank, side, arrived[index][at], 1, step);
          graph.add(rank, side, graph.shard_bytes(owner) * 3, step);
        }
        if (step + 1 == ranks) break;
        graph.copy(rank, side, rank, next, graph.shard_bytes(owner), step);
        graph.post(rank, side, arrived[index + 1][static_cast<std::size_t>(next)], step);
      }
      graph.join(rank, main, side, ranks - 1);
    }
  }
};

const Registration flux_gemm_rs(std::make_unique<FluxGemmRs>());

}  // namespace
}  // namespace weft::model
